"""The shell of a page: one file with its styles, its script and its data.

What comes from a data set is hostile: a name, an output or a program may hold markup. Templates
escape everything; data is JSON in which `<`, `>` and `&` are escapes, so that no text ends its
element; scripts put it into the page as text, never as markup. And the page's own policy (CSP)
admits only the script whose hash it states, and no connection to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from verifier._version import __version__
from verifier.errors import DataError

__all__ = ["check_page", "embedded", "render", "write_page"]

_FOLDER = Path(__file__).with_name("templates")
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def render(
    template: str,
    *,
    title: str,
    data: object,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A page of a template in `verifier/report/templates`; the script of its name goes with it.

    Args:
        template: `NAME.html`, which extends `shell.html`; `NAME.js` is its script.
        title: Of the page.
        data: Plain JSON values, for the script: `pageData()` gives them.
        facts: Name -> value, below the title.
        notes: Sentences to be seen before anything else.

    Raises:
        DataError: jinja2 is not installed.
    """
    script = "\n".join(_file(name) for name in ("shell.js", template.replace(".html", ".js")))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    engine = _templates()
    safe = importlib.import_module("markupsafe").Markup
    made = engine.get_template(template).render(
        title=_printable(title),
        styles=safe(_file("shell.css")),
        script=safe(script),
        digest=digest,
        data=safe(embedded(data)),
        facts={_printable(name): _printable(value) for name, value in (facts or {}).items()},
        notes=[_printable(note) for note in notes],
        version=__version__,
    )
    return str(made)


def embedded(data: object) -> str:
    """JSON that can stand in a script element: ASCII, and without any character of markup.

    Raises:
        ValueError: A number in it is no number of JSON (NaN, an infinity).
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def check_page(output: Path) -> None:
    """Find out before hours of work that a page could not be made, or not be written.

    Raises:
        DataError: jinja2 is not installed, or there is no such folder.
    """
    _templates()
    if not output.parent.is_dir():
        raise DataError(f"cannot write {output}: there is no folder {output.parent}")


def write_page(page: str, output: Path) -> None:
    """Write a page; what is there is replaced when the new one is whole.

    Raises:
        DataError: It cannot be written.
    """
    unfinished = output.with_name(output.name + ".unfinished")
    try:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
        unfinished.replace(output)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise DataError(f"cannot write {output}: {error.strerror or error}") from None


@cache
def _templates() -> Any:
    try:
        jinja2 = importlib.import_module("jinja2")
    except ModuleNotFoundError:
        raise DataError(
            "jinja2 is not installed, which makes the page: pip install 'sandbox-verifier[report]'"
        ) from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _printable(text: str) -> str:
    """Half of a surrogate pair cannot be written."""
    return text.encode("utf-8", "replace").decode()

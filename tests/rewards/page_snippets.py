"""The snippets of a page of the documentation, to be run as its readers would."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def snippets(page: str, kind: str) -> list[str]:
    """Blocks of a page whose fence says exactly this, in order."""
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_page(page: str, folder: Path, *, ray: bool = False) -> dict[str, object]:
    """Run a page's Python in one namespace; a block that names a file is written as that file.

    With `ray`, the blocks that need Ray run too.
    """
    text = (DOCS / page).read_text()
    names: dict[str, object] = {"__name__": "page"}
    pattern = r"^```python( ray)?\n(.*?)^```$"
    for needs_ray, code in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        named = re.match(r"# (\w+\.py)\n", code)
        if named:
            (folder / named[1]).write_text(code)
        elif ray or not needs_ray:
            exec(compile(code, f"docs/{page}", "exec"), names)
    return names

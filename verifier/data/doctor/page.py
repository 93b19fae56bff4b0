"""The findings as one page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from verifier._text import to_text
from verifier.data.doctor.finding import KINDS, Finding

__all__ = ["page"]

# A page with more rows of one kind is for nobody; JSON has them all.
_MAX_ROWS = 500
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .4rem 0 }
table { border-collapse: collapse; width: 100%; margin: 0 0 1rem }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid #8884; overflow-wrap: anywhere }
td:first-child { white-space: nowrap; font-family: monospace }
.error { color: light-dark(#b00020, #ff8a80) }
.warning { color: light-dark(#7a5200, #ffd180) }
"""


def page(title: str, rows: int, groups: Mapping[str, list[Finding]]) -> str:
    """The page.

    Args:
        title: Of the data set.
        rows: How many were looked at.
        groups: As of `by_kind`.
    """
    faulty = {finding.index for some in groups.values() for finding in some}
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title><style>{_STYLE}</style>",
        f"<h1>{_text(title)}</h1>",
        f"<p>{rows} rows, {len(faulty)} with findings, {rows - len(faulty)} without.</p>",
    ]
    parts += [_kind(name, some) for name, some in groups.items()]
    return "\n".join(parts) + "\n</html>\n"


def _kind(name: str, some: list[Finding]) -> str:
    severity = KINDS[name].value
    shown = "\n".join(
        f"<tr><td>{_text(finding.row_id)}</td><td>{_text(finding.reason)}</td></tr>"
        for finding in some[:_MAX_ROWS]
    )
    rest = f"<p>and {len(some) - _MAX_ROWS} more</p>" if len(some) > _MAX_ROWS else ""
    return (
        f'<details open><summary><strong>{name}</strong> <span class="{severity}">{severity}</span>'
        f" {len(some)}</summary><table><tr><th>row</th><th>reason</th></tr>\n{shown}</table>{rest}"
        "</details>"
    )


def _text(text: str) -> str:
    return escape(to_text(text))

"""Results, or what the data doctor found, as one HTML file that needs nothing beside it.

No server, no network, no other file. `page` is the shell of both pages. `findings`, which brings
the doctor in, is imported by who needs it.
"""

from __future__ import annotations

from verifier.report.figures import Collected, collect
from verifier.report.page import check_page, render, write_page
from verifier.report.samples import add_samples

__all__ = [
    "Collected",
    "add_samples",
    "check_page",
    "collect",
    "render",
    "report_page",
    "write_page",
]


def report_page(found: Collected, *, title: str, facts: dict[str, str]) -> str:
    """The report's page.

    Args:
        found: What `collect` made of the results, with what `add_samples` added.
        title: The headline.
        facts: Name -> value, of the run.

    Raises:
        DataError: jinja2 is not installed.
    """
    notes = list(found.notes)
    return render("report.html", title=title, data=found.data(), facts=facts, notes=notes)

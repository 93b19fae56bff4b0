"""What `verifier doctor data` found, as a table or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from verifier.cli.common import ExitCode, console

if TYPE_CHECKING:
    from verifier.data.doctor import Examination, Finding

_SHOWN_IDS = 4


def tell(
    examination: Examination, clean: Path | None, kept: int | None, *, as_json: bool
) -> ExitCode:
    """Print everything; the exit code that goes with it.

    Args:
        examination: Of all rows.
        clean: Where the cleaned file is.
        kept: How many rows it has.
        as_json: Print one JSON object.
    """
    from verifier.data.doctor import Severity, by_kind, reasons_file

    findings = examination.findings()
    groups = by_kind(findings)
    errors = len({f.index for f in findings if f.severity is Severity.ERROR})
    faulty = len({f.index for f in findings})
    if as_json:
        typer.echo(json.dumps(_as_json(examination.rows, errors, faulty, groups, kept), indent=2))
    else:
        out = console()
        if groups:
            out.print(_table(groups))
        out.print(
            f"{examination.rows} rows: {errors} with errors, {faulty - errors} with warnings alone"
        )
        if clean is not None:
            out.print(
                f"{kept} rows kept in {clean}; reasons in {reasons_file(clean)}", markup=False
            )
    return ExitCode.INCOMPLETE if errors else ExitCode.OK


def _as_json(
    rows: int, errors: int, faulty: int, groups: dict[str, list[Finding]], kept: int | None
) -> dict[str, Any]:
    from verifier.data.doctor import KINDS

    told: dict[str, Any] = {"rows": rows, "rows_with_errors": errors, "rows_with_findings": faulty}
    if kept is not None:
        told["rows_kept"] = kept
    told["findings"] = [
        {
            "name": name,
            "severity": some[0].severity.value,
            "advice": KINDS[name].advice,
            "count": len(some),
            "rows": [finding.to_dict() for finding in some],
        }
        for name, some in groups.items()
    ]
    return told


def _table(groups: dict[str, list[Finding]]) -> Table:
    table = Table(title="What is wrong with the data set", title_justify="left")
    table.add_column("finding", no_wrap=True)
    table.add_column("severity")
    table.add_column("rows", justify="right")
    table.add_column("ids")
    table.add_column("the first one's reason")
    for name, some in groups.items():
        severity = some[0].severity.value
        style = "bold red" if severity == "error" else "yellow"
        ids = ", ".join(finding.row_id for finding in some[:_SHOWN_IDS])
        more = f" +{len(some) - _SHOWN_IDS}" if len(some) > _SHOWN_IDS else ""
        shown = escape((ids + more).encode("utf-8", "backslashreplace").decode())
        reason = escape(some[0].reason.encode("utf-8", "backslashreplace").decode())
        table.add_row(name, f"[{style}]{severity}[/]", str(len(some)), shown, reason)
    return table

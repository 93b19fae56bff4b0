"""`verifier doctor data`: what is wrong with the rewards of a data set, before training."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    RuntimeOption,
    ServerOption,
    SlotsOption,
    TestlibOption,
    UnsafeOption,
    accepted,
    console,
    execute,
    fail,
    messages,
    only_server,
)
from verifier.cli.scorers import open_scorer

if TYPE_CHECKING:
    from verifier.data import RowScorer
    from verifier.data.doctor import Examination, Finding, Reader, Subject, Unreadable

_PATIENCE_S = 600.0
# Rows whose programs run at once, for each slot: a row runs one program after the other.
_ROWS_PER_SLOT = 2
_SHOWN_IDS = 4


def doctor_data(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A data set as `verifier score` reads it; responses are not needed.",
        ),
    ],
    clean: Annotated[
        Path | None,
        typer.Option(
            "--clean",
            metavar="OUT",
            help="Write the rows without errors to this file, and the reason for each other one to "
            "OUT.dropped.jsonl.",
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="KIND", help="--clean drops these warnings too."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="KIND", help="--clean keeps rows with these errors."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="FIELD=COLUMN",
            help="Which column is which, as of `verifier score`; also prompt, reference, "
            "finish_reason, response_tokens.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Training has a scorer of yours for this data source; repeat for more.",
            show_default=False,
        ),
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Read only; no program is run.")] = False,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Run each row's best program so often.")
    ] = 3,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many rows.", show_default=False)
    ] = None,
    max_cases: Annotated[
        int, typer.Option("--max-cases", min=1, help="A suite with more is huge.")
    ] = 1000,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=1,
            help="A response of so many tokens was cut off.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT", help="Write the findings as one page too.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
    server: ServerOption = None,
    backend: BackendOption = None,
    slots: SlotsOption = None,
    accept: AcceptOption = None,
    allow_unsafe: UnsafeOption = False,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    testlib: TestlibOption = None,
) -> None:
    """Find what is wrong with a data set's rewards.

    Rows that nobody scores, ground truths that cannot be used, tests that trivial programs pass and
    references do not, verdicts that change between runs, repeated rows, prompts that give the tests
    away. The exit code is 1 when there are errors; warnings alone are 0. See docs/doctor-data.md.
    """
    from verifier.data import records
    from verifier.data.doctor import KINDS, Examination, Options, Reader

    unknown = sorted({*(drop or ()), *(keep or ())} - KINDS.keys())
    if unknown:
        fail(ExitCode.USAGE, f"no such kind: {unknown[0]}; known: {', '.join(KINDS)}")
    if not file.exists():
        fail(ExitCode.USAGE, f"{file} does not exist")
    if html is not None and html.exists() and html.samefile(file):
        fail(ExitCode.USAGE, f"{file} would be overwritten by the page: name another")

    only_server(
        server,
        (backend, slots, accept, image, runtime, testlib),
        f"verifier doctor data {file} --server {server}",
    )

    async def opened() -> RowScorer:
        return await open_scorer(
            server,
            no_cache=True,
            patience_s=_PATIENCE_S,
            say=messages().print,
            backend=None if backend is None else backend.value,
            slots=slots,
            accept=accepted(accept),
            allow_unsafe=allow_unsafe,
            image=image,
            runtime=runtime,
            testlib=testlib,
        )

    async def work() -> ExitCode:
        if html is not None:
            from verifier.report import check_page

            check_page(html)
        reader = Reader(column or (), file.name.split(".")[0])
        options = Options(frozenset(source or ()), max_cases, max_tokens=max_tokens, repeat=repeat)
        examination = Examination(options)
        scorer = None if no_run else await opened()
        try:
            await _examine(file, reader, examination, scorer, limit)
        finally:
            if scorer is not None:
                await scorer.close()
        if html is not None:
            _write_page(html, file, examination, reader.read(records(file)))
        return _end(
            examination, file, clean, frozenset(drop or ()), frozenset(keep or ()), limit, as_json
        )

    execute(work)


async def _examine(
    file: Path,
    reader: Reader,
    examination: Examination,
    scorer: RowScorer | None,
    limit: int | None,
) -> None:
    """All rows: read one by one; programs of some run while further ones are read."""
    from verifier.data import records
    from verifier.data.doctor import Subject

    free = asyncio.Semaphore(_ROWS_PER_SLOT * (1 if scorer is None else max(1, scorer.slots)))
    running: set[asyncio.Task[None]] = set()

    async def run(work: Callable[[], Any]) -> None:
        try:
            await work()
        finally:
            free.release()

    try:
        for subject in islice(reader.read(records(file)), limit):
            suite = examination.look(subject)
            if scorer is None or suite is None or not isinstance(subject, Subject):
                continue
            await free.acquire()
            for task in [task for task in running if task.done()]:
                running.discard(task)
                task.result()
            probes = _bound(examination, subject, suite, scorer)
            running.add(asyncio.create_task(run(probes)))
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _bound(
    examination: Examination, subject: Any, suite: Any, scorer: RowScorer
) -> Callable[[], Any]:
    return lambda: examination.run(subject, suite, scorer.score)


def _write_page(
    html: Path, file: Path, examination: Examination, subjects: Iterable[Subject | Unreadable]
) -> None:
    from verifier.data.doctor import by_kind
    from verifier.report import FindingsPage, write_page

    page = FindingsPage(examination.rows, by_kind(examination.findings()))
    page.add_excerpts(subjects)
    write_page(page.html(file.name), html)


def _end(
    examination: Examination,
    file: Path,
    clean: Path | None,
    drop: frozenset[str],
    keep: frozenset[str],
    limit: int | None,
    as_json: bool,
) -> ExitCode:
    from verifier.data.doctor import Severity, by_kind, dropped, reasons_file, write_clean

    findings = examination.findings()
    groups = by_kind(findings)
    kept = None
    if clean is not None:
        kept = write_clean(file, clean, dropped(findings, drop, keep), limit)
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

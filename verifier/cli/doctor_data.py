"""`verifier doctor data`: what is wrong with the rewards of a data set, before training."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verifier.cli.common import (
    AcceptOption,
    AdapterOption,
    BackendOption,
    ExitCode,
    ImageOption,
    InOrderOption,
    JsonOption,
    LimitOption,
    ResponsesOption,
    RuntimeOption,
    ServerOption,
    SlotsOption,
    TestlibOption,
    UnsafeOption,
    accepted,
    execute,
    fail,
    messages,
    only_server,
)
from verifier.cli.findings import tell
from verifier.cli.scorers import open_scorer

if TYPE_CHECKING:
    from verifier.cli.scoring import DataSet
    from verifier.data import BadRow, Record, RowScorer
    from verifier.data.doctor import Examination, Subject, Unreadable

_PATIENCE_S = 600.0
# Rows whose programs run at once, for each slot: a row runs one program after the other.
_ROWS_PER_SLOT = 2


def doctor_data(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A data set as `verifier score` reads it, or the word human-eval; responses are "
            "not needed.",
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
    adapter: AdapterOption = None,
    responses: ResponsesOption = None,
    in_order: InOrderOption = False,
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
    limit: LimitOption = None,
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
    from verifier.cli.scoring import DataSet
    from verifier.data import Selection
    from verifier.data.doctor import (
        KINDS,
        OWN_FIELDS,
        Examination,
        Options,
        Reader,
        dropped,
        write_clean,
    )

    unknown = sorted({*(drop or ()), *(keep or ())} - KINDS.keys())
    if unknown:
        fail(ExitCode.USAGE, f"no such kind: {unknown[0]}; known: {', '.join(KINDS)}")
    usual = (one for one in column or () if one.partition("=")[0] not in OWN_FIELDS)
    data = DataSet(file, responses, in_order, tuple(usual), adapter, Selection())
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

    def rows() -> Iterator[Record | BadRow]:
        return islice(data.objects(), limit)

    async def work() -> ExitCode:
        name = file.name.split(".")[0]
        reader = Reader(column or (), name, joined=responses is not None)
        _check(data, clean, html)
        options = Options(frozenset(source or ()), max_cases, max_tokens=max_tokens, repeat=repeat)
        examination = Examination(options)
        scorer = None if no_run else await opened()
        try:
            await _examine(reader.read(rows()), examination, scorer)
        finally:
            if scorer is not None:
                await scorer.close()
        if html is not None:
            _write_page(html, file.name, examination, reader.read(rows()))
        kept = None
        if clean is not None:
            why = dropped(examination.findings(), frozenset(drop or ()), frozenset(keep or ()))
            kept = write_clean(rows(), clean, why, _as_it_stands(data))
        return tell(examination, clean, kept, as_json=as_json)

    execute(work)


def _as_it_stands(data: DataSet) -> Path | None:
    """The file whose records the rows are; None where they are joined, or adapted."""
    whole = data.adapter is None and data.responses is None and data.rows.exists()
    return data.rows if whole else None


def _check(data: DataSet, clean: Path | None, html: Path | None) -> None:
    """Refuse what would fail, or destroy the rows, when all programs were run."""
    data.check_input()
    for output in (clean, html):
        if output is None:
            continue
        for path in data.files():
            if output.exists() and output.samefile(path):
                fail(ExitCode.USAGE, f"{path} holds the rows: name another file than {output}")
        for folder in (data.rows, data.responses):
            if folder is not None and output.resolve().parent == folder.resolve():
                fail(ExitCode.USAGE, f"{output} would be read as rows: name one outside {folder}")
    if clean is not None:
        from verifier.data.doctor import check_clean

        check_clean(clean, _as_it_stands(data))
    if html is not None:
        from verifier.report import check_page

        check_page(html)


async def _examine(
    subjects: Iterable[Subject | Unreadable], examination: Examination, scorer: RowScorer | None
) -> None:
    """All rows: read one by one; programs of some run while further ones are read."""
    from verifier.data.doctor import Subject

    free = asyncio.Semaphore(_ROWS_PER_SLOT * (1 if scorer is None else max(1, scorer.slots)))
    running: set[asyncio.Task[None]] = set()

    async def run(work: Callable[[], Any]) -> None:
        try:
            await work()
        finally:
            free.release()

    try:
        for subject in subjects:
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
    html: Path, title: str, examination: Examination, subjects: Iterable[Subject | Unreadable]
) -> None:
    from verifier.data.doctor import by_kind
    from verifier.report import write_page
    from verifier.report.findings import FindingsPage

    page = FindingsPage(examination.rows, by_kind(examination.findings()))
    page.add_excerpts(subjects)
    write_page(page.html(title), html)

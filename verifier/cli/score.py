"""`verifier score`: a file of rows in, a file of results out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from verifier.cli.common import (
    AcceptOption,
    BackendOption,
    ExitCode,
    ImageOption,
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
)
from verifier.cli.pipeline import Scored, score_rows
from verifier.cli.scorers import EngineScorer, RowScorer, open_engine, open_gateway
from verifier.cli.totals import Totals
from verifier.data import read_rows, result_to_dict, to_line
from verifier.types import Outcome

# Off a terminal, this many progress lines over the whole file.
_PLAIN_LINES = 10
# Reasons printed in full; the rest is in the results file.
_MAX_REASONS = 20
# Files that hold rows in another form: how they begin, what they are, what to type.
_NO_LINES = (
    (b"\x1f\x8b", "compressed by gzip", "gunzip --keep FILE"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unzstd --keep FILE"),
    (b"PAR1", "Parquet", "pandas.read_parquet(FILE).to_json(ROWS, orient='records', lines=True)"),
)


def score(
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS.jsonl",
            exists=True,
            dir_okay=False,
            help="One JSON object a line: id, data_source, response, ground_truth; optionally "
            "language, limits, extra_info.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="RESULTS.jsonl",
            help="Where results go, in the order of the rows; - is standard output.",
        ),
    ],
    server: ServerOption = None,
    backend: BackendOption = None,
    slots: SlotsOption = None,
    accept: AcceptOption = None,
    allow_unsafe: UnsafeOption = False,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    testlib: TestlibOption = None,
) -> None:
    """Score a file of responses against their ground truths.

    Runs a sandbox of its own, or uses a gateway (--server). Results are written in the order of the
    rows. A row that cannot be read or scored gets a result with the reason, and does not stop the
    rest; then the exit code is 1.
    """
    if server is not None and any(
        option is not None for option in (backend, slots, accept, image, runtime, testlib)
    ):
        fail(
            ExitCode.USAGE,
            "--server brings its own sandbox: --backend, --slots, --accept, --image, --runtime and "
            "--testlib are for one of ours",
            f"verifier score {rows} -o {output} --server {server}",
        )

    _check_files(rows, output)

    async def open_scorer() -> RowScorer:
        if server is not None:
            return await open_gateway(server)
        engine = await open_engine(
            None if backend is None else backend.value,
            slots=slots,
            accept=accepted(accept),
            allow_unsafe=allow_unsafe,
            image=image,
            runtime=runtime,
            testlib=testlib,
        )
        return EngineScorer(engine)

    async def work() -> ExitCode:
        scorer = await open_scorer()
        try:
            with _results_file(output) as file:
                totals = await _score(rows, scorer, file)
        finally:
            await scorer.close()
        to_stdout = output == Path("-")
        (messages() if to_stdout else console()).print(totals.table())
        return ExitCode.OK if totals.complete else ExitCode.INCOMPLETE

    execute(work)


def _check_files(rows: Path, output: Path) -> None:
    """Refuse what would end in a file of complaints, or without the rows."""
    if output != Path("-") and output.exists() and output.samefile(rows):
        fail(ExitCode.USAGE, f"{output} holds the rows: results would overwrite it; name another")
    with rows.open("rb") as file:
        start = file.read(4)
    for magic, kind, remedy in _NO_LINES:
        if start.startswith(magic):
            fail(ExitCode.USAGE, f"{rows} is {kind}, not JSON Lines", remedy)


async def _score(rows: Path, scorer: RowScorer, file: TextIO) -> Totals:
    totals = Totals()
    err = messages()
    reasons = _Reasons(rows, err)

    def write(scored: Scored) -> None:
        file.write(to_line(result_to_dict(scored.result, scored.row)))
        file.flush()
        if scored.result.outcome is not Outcome.SCORED:
            reasons.show(scored)

    with _progress(err, _count_lines(rows), totals) as advance:

        def finished(scored: Scored) -> None:
            totals.add(scored)
            advance()

        await score_rows(read_rows(rows), scorer, write, finished)
    reasons.close()
    return totals


class _Reasons:
    """Why rows have no score: the first ones in full, then how many more."""

    def __init__(self, rows: Path, err: Console) -> None:
        self._rows = rows
        self._err = err
        self._count = 0

    def show(self, scored: Scored) -> None:
        self._count += 1
        if self._count > _MAX_REASONS:
            return
        where = f"{self._rows}:{scored.row.line}"
        name = f" ({scored.row.id})" if scored.row.id else ""
        text = f"{where}{name}: {scored.result.outcome.value}: {scored.result.error}"
        # An id or an error may hold half of a surrogate pair, which no terminal can show.
        self._err.print(text.encode("utf-8", "backslashreplace").decode(), markup=False)

    def close(self) -> None:
        if self._count > _MAX_REASONS:
            more = self._count - _MAX_REASONS
            self._err.print(f"... and {more} more: see the results file")


@contextlib.contextmanager
def _results_file(path: Path) -> Iterator[TextIO]:
    if path == Path("-"):
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="ascii", newline="\n")
    except OSError as error:
        fail(ExitCode.USAGE, f"cannot write {path}: {error.strerror}")
    with file:
        yield file


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


@contextlib.contextmanager
def _progress(err: Console, total: int, totals: Totals) -> Iterator[Callable[[], None]]:
    """Yields a function to be called once a row: a live bar on a terminal, else plain lines."""
    if not err.is_terminal:
        step = max(1, total // _PLAIN_LINES)

        def plain() -> None:
            if totals.rows % step == 0 or totals.rows == total:
                err.print(f"{totals.rows}/{total} rows, {totals.line()}")

        yield plain
        return
    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("scoring", total=total, note="")

        def live() -> None:
            progress.update(task, advance=1, note=totals.line())

        yield live

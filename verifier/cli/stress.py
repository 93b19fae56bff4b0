"""`verifier stress`: benign and hostile programs mixed, under load, for a time or a count."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from verifier.cli.common import (
    AcceptOption,
    Backend,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    RuntimeOption,
    SlotsOption,
    accepted,
    console,
    execute,
    fail,
    messages,
    sandbox_settings,
)

if TYPE_CHECKING:
    from verifier.stress.soak import Report

DEFAULT_SECONDS = 30.0
SHOWN = 20
MIB = 1024 * 1024


def stress(
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", min=1, help="How long. Default: 30, unless --count is given.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", min=1, help="How many runs instead.", show_default=False),
    ] = None,
    hostile_share: Annotated[
        float,
        typer.Option("--hostile-share", min=0.0, max=1.0, help="Share of hostile runs."),
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Which programs, in which order.")] = 1,
    backend: BackendOption = None,
    accept: AcceptOption = None,
    slots: SlotsOption = None,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Run benign and hostile programs mixed, under load.

    Says whether every benign verdict was right, what was left behind, which slots were lost, how
    long runs took, and whether this process grew. The exit code is 1 if any of that is not as it
    should be.
    """
    if seconds is not None and count is not None:
        fail(ExitCode.USAGE, "--seconds and --count: give one of them")

    async def work() -> ExitCode:
        from verifier.engine import make_sandbox
        from verifier.stress.catalogue import load
        from verifier.stress.soak import Plan, Soak

        settings = sandbox_settings(backend, accept=accepted(accept), image=image, runtime=runtime)
        name = settings.backend
        if name not in (Backend.NAMESPACES.value, Backend.DOCKER.value):
            fail(ExitCode.USAGE, f"--backend: {name} isolates nothing that could be attacked")
        plan = Plan(
            seconds=seconds if count is None and seconds else None if count else DEFAULT_SECONDS,
            count=count,
            hostile_share=hostile_share,
            slots=slots or settings.slots or len(os.sched_getaffinity(0)),
            seed=seed,
        )
        progress = messages()
        sandbox = make_sandbox(
            name,
            accept=settings.accept,
            image=settings.image,
            runtime=settings.runtime,
        )
        try:
            await sandbox.start()
            report = await Soak(sandbox, load(), plan).run(lambda r: _progress(r, progress))
        finally:
            await sandbox.close()
        if as_json:
            typer.echo(json.dumps(report.to_dict(), indent=2))
        else:
            show(report, console())
        return ExitCode.OK if report.ok else ExitCode.INCOMPLETE

    execute(work)


def _progress(report: Report, out: Console) -> None:
    out.print(
        f"{report.seconds:7.1f} s  {report.benign} benign, {report.hostile} hostile, "
        f"wrong {len(report.wrong)}, unserved {len(report.unserved)}, "
        f"survivors {len(report.left)}, {report.rss_bytes[-1] / MIB:.0f} MiB, "
        f"{report.fds[-1]} descriptors",
        markup=False,
    )


def show(report: Report, out: Console) -> None:
    """The table, and what was wrong."""
    table = Table(title=f"The {report.backend} backend under load", title_justify="left")
    table.add_column("", no_wrap=True)
    table.add_column("")
    runs = report.benign + report.hostile
    latency = ", ".join(f"{name} {value:.0f}" for name, value in report.percentiles_ms().items())
    rss = report.rss_bytes
    rows = {
        "runs": f"{runs} in {report.seconds:.1f} s ({runs / max(report.seconds, 1e-9):.0f} a "
        f"second), {report.hostile} of them hostile",
        "benign verdicts": f"{report.benign - len(report.wrong) - len(report.unserved)} right, "
        f"{len(report.wrong)} wrong, {len(report.unserved)} without one",
        "survivors": str(len(report.left)),
        "slots lost": str(report.faults),
        "run again, alone": str(report.reruns),
        "latency, ms": latency,
        "memory, MiB": f"{rss[0] / MIB:.0f} after the first round, "
        f"{rss[-1] / MIB:.0f} after the last, {max(rss) / MIB:.0f} at most",
        "descriptors": f"{report.fds[0]}, {report.fds[-1]}, {max(report.fds)} at most",
        "memory of the slots, MiB": f"{report.slot_bytes[0] / MIB:.0f}, "
        f"{report.slot_bytes[-1] / MIB:.0f}, {max(report.slot_bytes) / MIB:.0f} at most",
        "flaky attacks": str(len(report.flaky)),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    out.print(table)
    for key, counts in sorted(report.flaky.items()):
        split = ", ".join(f"{status} {n}" for status, n in counts.most_common())
        out.print(f"flaky: {key}: {split}", markup=False)
    for title, texts in (
        ("wrong verdict", report.wrong),
        ("no verdict", report.unserved),
        ("left behind", report.left),
        ("leak", report.leaks),
    ):
        for text in texts[:SHOWN]:
            out.print(f"{title}: {text}", markup=False, style="red")
        if len(texts) > SHOWN:
            out.print(f"{title}: and {len(texts) - SHOWN} more", style="red")
    if report.ok:
        out.print(f"{runs} runs, survivors 0, every benign verdict right", style="bold green")
    else:
        out.print("Not all is as it should be.", style="bold red")

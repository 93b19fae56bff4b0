"""`verifier selfcheck`: attacks the sandbox on this host, and says what held."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from verifier.cli.common import (
    AcceptOption,
    Backend,
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
    from verifier.sandbox.base import Guarantee, Sandbox
    from verifier.sandbox.conformance import Check
    from verifier.stress.catalogue import Attack
    from verifier.stress.report import Finding
    from verifier.stress.sweep import Scope

CONFORMANCE = "conformance"
STYLES = {"held": "green", "FAILED": "bold red", "not guaranteed": "yellow"}

BackendsOption = Annotated[
    list[Backend] | None,
    typer.Option(
        "--backend",
        help="What is attacked: namespaces (the default) or docker; repeat it for both.",
        show_default=False,
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="GROUP",
        help="This group only; repeat it, or separate names by commas: conformance, time, memory, "
        "processes, output, files, kernel, compile, cheating.",
        show_default=False,
    ),
]


@dataclass(slots=True)
class Outcome:
    """One backend's findings."""

    backend: str
    guarantees: tuple[Guarantee, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    scope: Scope | None = None

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        from verifier.stress.report import to_dict

        guarantees = [
            {**dataclasses.asdict(guarantee), "name": guarantee.name.value}
            for guarantee in self.guarantees
        ]
        scope = dataclasses.asdict(self.scope) if self.scope else {}
        return {"backend": self.backend, **to_dict(self.findings, guarantees, scope)}


def selfcheck(
    backend: BackendsOption = None,
    only: OnlyOption = None,
    accept: AcceptOption = None,
    slots: SlotsOption = None,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack the sandbox on this host.

    Runs what every backend has to do, then a catalogue of hostile programs. Each must end with the
    right verdict for the right reason, and is swept after: no process, mount, namespace, cgroup,
    key, shared memory, file or descriptor may be left, and the next program in the same slot must
    be right. Where a guarantee is missing and was accepted, its attacks are reported as not
    guaranteed. The exit code is 1 if anything failed.
    """

    async def work() -> ExitCode:
        settings = sandbox_settings(accept=accepted(accept), image=image, runtime=runtime)
        wanted = [b.value for b in backend or ()] or [settings.backend]
        for name in wanted:
            if name not in (Backend.NAMESPACES.value, Backend.DOCKER.value):
                fail(ExitCode.USAGE, f"--backend: {name} isolates nothing that could be checked")
        if runtime is not None and Backend.DOCKER.value not in wanted:
            fail(
                ExitCode.USAGE,
                "--runtime is for the docker backend",
                f"verifier selfcheck --backend docker --runtime {runtime}",
            )
        attacks, checks = chosen(sorted(accepted(only)))
        show = Show(console(), messages() if as_json else console(), len(attacks) + len(checks))
        outcomes = []
        for name in wanted:
            outcome = await attack_backend(
                name,
                attacks,
                checks,
                accept=frozenset(settings.accept),
                slots=slots or settings.slots or len(os.sched_getaffinity(0)),
                image=settings.image,
                runtime=settings.runtime if name == Backend.DOCKER.value else None,
                show=show,
            )
            outcomes.append(outcome)
            if not as_json:
                show.backend(outcome)
        return finish(outcomes, as_json=as_json, out=console())

    execute(work)


def chosen(groups: Sequence[str]) -> tuple[list[Attack], list[Check]]:
    """The attacks and checks of these groups; all where none is named."""
    from verifier.sandbox.conformance import CHECKS
    from verifier.stress.catalogue import GROUPS, load

    unknown = set(groups) - {CONFORMANCE, *GROUPS}
    if unknown:
        fail(
            ExitCode.USAGE,
            f"--only: there is no group {', '.join(sorted(unknown))}",
            f"there are: {', '.join((CONFORMANCE, *GROUPS))}",
        )
    attacks = [attack for attack in load() if not groups or attack.group in groups]
    return attacks, list(CHECKS) if not groups or CONFORMANCE in groups else []


async def attack_backend(
    backend: str,
    attacks: Sequence[Attack],
    checks: Sequence[Check],
    *,
    accept: frozenset[str],
    slots: int,
    image: str | None,
    runtime: str | None,
    show: Show,
) -> Outcome:
    """Everything against one backend.

    Raises:
        GuaranteeError: One is missing and was not accepted.
        BackendError: It cannot serve here.
    """
    from verifier.engine import make_sandbox
    from verifier.stress.runner import run_all

    sandbox: Sandbox = make_sandbox(backend, accept=accept, image=image, runtime=runtime)
    outcome = Outcome(backend)
    try:
        await sandbox.start()
        outcome.guarantees = await sandbox.guarantees()
        with show.live(backend):
            outcome.findings, outcome.scope = await run_all(
                sandbox,
                attacks,
                checks,
                slots=slots,
                started=show.started,
                finished=show.finished,
            )
    finally:
        await sandbox.close()
    return outcome


def finish(outcomes: Sequence[Outcome], *, as_json: bool, out: Console) -> ExitCode:
    """The last line, and the exit code."""
    from verifier.stress.report import totals

    total = totals([finding for outcome in outcomes for finding in outcome.findings])
    if as_json:
        answer = {
            "totals": dataclasses.asdict(total),
            "backends": [outcome.to_dict() for outcome in outcomes],
        }
        typer.echo(json.dumps(answer, indent=2))
    else:
        out.print(total.sentence(), style="bold red" if total.failed else "bold green")
    return ExitCode.INCOMPLETE if total.failed else ExitCode.OK


class Show:
    """What is seen while it runs: a live table on a terminal, a line for each attack otherwise."""

    def __init__(self, out: Console, progress: Console, count: int) -> None:
        """`progress` is where the lines and the live table go."""
        self._out = out
        self._progress = progress
        self._count = count
        self._live: Live | None = None
        self._running: dict[str, None] = {}
        self._seen: Counter[tuple[str, str]] = Counter()
        self._failures: list[Finding] = []
        self._done = 0
        self._backend = ""

    @contextlib.contextmanager
    def live(self, backend: str) -> Iterator[None]:
        """Around one backend's run."""
        self._backend = backend
        self._running.clear()
        self._seen.clear()
        self._failures.clear()
        self._done = 0
        if not self._progress.is_terminal:
            yield
            return
        with Live(console=self._progress, refresh_per_second=4, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def started(self, key: str) -> None:
        """One attack begins."""
        self._running[key] = None
        self._refresh()

    def finished(self, finding: Finding) -> None:
        """And has ended."""
        self._running.pop(finding.key, None)
        self._seen[finding.group, finding.mark.value] += 1
        self._done += 1
        if finding.mark.value == "FAILED":
            self._failures.append(finding)
        if self._live is None:
            self._print(finding)
        self._refresh()

    def _print(self, finding: Finding) -> None:
        line = (
            f"{finding.mark.value:<14} {finding.backend:<10} {finding.key:<46} "
            f"{finding.seconds:5.2f} s  {_short(finding.detail)}"
        )
        self._progress.print(line.rstrip(), markup=False)
        for text in _faults(finding):
            self._progress.print(f"    {text}", markup=False)

    def _refresh(self) -> None:
        if self._live is None:
            return
        table = Table(title=f"{self._backend}: {self._done} of {self._count}", title_justify="left")
        table.add_column("group", no_wrap=True)
        for mark in STYLES:
            table.add_column(mark, justify="right")
        table.add_column("other", justify="right")
        for group in dict.fromkeys(group for group, _ in self._seen):
            marks = [self._seen[group, mark] for mark in STYLES]
            every = sum(count for (name, _), count in self._seen.items() if name == group)
            cells = [
                f"[{style}]{count}[/]" if count else ""
                for count, style in zip(marks, STYLES.values(), strict=True)
            ]
            table.add_row(group, *cells, str(every - sum(marks) or ""))
        running = ", ".join(self._running)
        failed = "\n".join(
            f"FAILED {finding.key}: {'; '.join(_faults(finding))[:300]}"
            for finding in self._failures
        )
        self._live.update(Group(table, f"running: {running}", failed))

    def backend(self, outcome: Outcome) -> None:
        """The summary by guarantee."""
        from verifier.stress.report import by_guarantee

        held = {guarantee.name.value: guarantee.holds for guarantee in outcome.guarantees}
        table = Table(title=f"The {outcome.backend} backend on this host", title_justify="left")
        table.add_column("guarantee", no_wrap=True)
        table.add_column("on this host", no_wrap=True)
        for name in ("attacks", "held", "failed", "not guaranteed", "other"):
            table.add_column(name, justify="right")
        for row in by_guarantee(outcome.findings):
            here = {True: "holds", False: "[yellow]missing[/]", None: ""}[held.get(row.guarantee)]
            failed = f"[bold red]{row.failed}[/]" if row.failed else "0"
            table.add_row(
                row.guarantee,
                here,
                str(row.attacks),
                str(row.held),
                failed,
                str(row.not_guaranteed or ""),
                str(row.other or ""),
            )
        self._out.print(table)
        if outcome.scope is not None:
            self._out.print(f"Swept after each: {', '.join(outcome.scope.seen)}", markup=False)
            if outcome.scope.hidden:
                hidden = ", ".join(outcome.scope.hidden)
                self._out.print(f"Not visible to this user: {hidden}", markup=False)
        for finding in outcome.findings:
            if finding.mark.value == "FAILED" and self._progress.is_terminal:
                self._out.print(f"FAILED {finding.key}: {finding.title}", style="bold red")
                for text in _faults(finding):
                    self._out.print(f"    {text}", markup=False)


def _faults(finding: Finding) -> list[str]:
    """What was wrong, if it counts, and what was left."""
    problems = finding.problems if finding.mark.value == "FAILED" else ()
    return [*problems, *(f"LEFT BEHIND: {text}" for text in finding.left)]


def _short(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= 80 else first[:77] + "..."

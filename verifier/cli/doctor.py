"""`verifier doctor`: what a sandbox guarantees on this host, and what to type where it does not."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from verifier._version import __version__
from verifier.cli.common import (
    Backend,
    BackendOption,
    ExitCode,
    ImageOption,
    JsonOption,
    RuntimeOption,
    console,
    execute,
    sandbox_settings,
)
from verifier.cli.host import HostFacts, host_facts
from verifier.errors import VerifierError

if TYPE_CHECKING:
    from verifier.sandbox.base import Guarantee


@dataclass(frozen=True, slots=True)
class Findings:
    """What the doctor found.

    Attributes:
        backend: Which backend was looked at.
        guarantees: Every guarantee, held or missing.
        toolchains: Language -> version.
        packages: Language -> library that programs find -> version.
        problem: Why the backend cannot be used at all; "" when it can.
        host: Facts of the machine.
        notes: What else should be known of it, each with what to type.
    """

    backend: str
    guarantees: tuple[Guarantee, ...]
    toolchains: dict[str, str]
    problem: str
    host: HostFacts
    notes: tuple[str, ...] = ()
    packages: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Names of required guarantees that do not hold: what --accept would have to name."""
        return [g.name.value for g in self.guarantees if not g.holds and self.required(g)]

    @staticmethod
    def required(guarantee: Guarantee) -> bool:
        """The sandbox refuses to start without it; the others are hardening, said and no more."""
        from verifier.sandbox.accept import HARDENING

        return guarantee.name not in HARDENING

    @property
    def ready(self) -> bool:
        """`verifier serve` would start without --accept."""
        return not self.problem and not self.missing

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `verifier doctor --json`."""
        return {
            "version": __version__,
            "backend": self.backend,
            "ready": self.ready,
            "problem": self.problem,
            "missing": self.missing,
            "guarantees": [
                {
                    "name": guarantee.name.value,
                    "holds": guarantee.holds,
                    "required": self.required(guarantee),
                    "mechanism": guarantee.mechanism,
                    "remedy": guarantee.remedy,
                }
                for guarantee in self.guarantees
            ],
            "toolchains": self.toolchains,
            "packages": self.packages,
            "host": self.host.to_dict(),
            "notes": list(self.notes),
        }


def doctor(
    context: typer.Context,
    backend: BackendOption = None,
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what the sandbox guarantees on this host.

    For each guarantee: whether it holds, by what, and otherwise what to type so that it does. Then
    the toolchains, and the facts of the host that decide. The exit code is 3 when something is
    missing. `verifier doctor data FILE` looks at a data set instead.
    """
    if context.invoked_subcommand is not None:
        return

    async def work() -> ExitCode:
        settings = sandbox_settings(backend, image=image, runtime=runtime)
        found = await examine(
            settings.backend, settings.image, settings.runtime, settings.runners_dir
        )
        if as_json:
            typer.echo(json.dumps(found.to_dict(), indent=2))
        else:
            _show(found, console())
        return ExitCode.OK if found.ready else ExitCode.UNAVAILABLE

    execute(work)


async def examine(
    backend: str,
    image: str | None = None,
    runtime: str | None = None,
    runners_dir: str | None = None,
) -> Findings:
    """Probe a backend without starting it: one that is not there is a finding, not an error."""
    from verifier.engine import make_sandbox
    from verifier.sandbox.notes import host_notes

    guarantees: tuple[Guarantee, ...] = ()
    toolchains: dict[str, str] = {}
    packages: dict[str, dict[str, str]] = {}
    problem = ""
    try:
        sandbox = make_sandbox(
            backend, allow_unsafe=True, image=image, runtime=runtime, runners_dir=runners_dir
        )
        try:
            guarantees = await sandbox.guarantees()
            toolchains = await sandbox.toolchains()
            packages = await sandbox.packages()
        finally:
            with contextlib.suppress(VerifierError):
                await sandbox.close()
    except VerifierError as error:
        problem = str(error)
    facts = host_facts()
    return Findings(backend, guarantees, toolchains, problem, facts, host_notes(), packages)


def _show(found: Findings, out: Console) -> None:
    if found.problem:
        out.print(f"The {found.backend} backend cannot be used here:", style="bold red")
        out.print(f"  {found.problem}", markup=False)
    if found.guarantees:
        out.print(_guarantee_table(found))
    _show_toolchains(found, out)
    _show_host(found.host, out)
    for note in found.notes:
        out.print("note:", style="bold yellow", end=" ")
        out.print(note, markup=False)
    if found.ready:
        out.print(f"Ready: verifier serve --backend {found.backend}", style="bold green")
    elif not found.problem:
        names = ",".join(found.missing)
        out.print("Missing guarantees are refused. To go on without them:", style="bold yellow")
        unsafe = " --allow-unsafe" if found.backend == Backend.PROCESS.value else ""
        command = f"verifier serve --backend {found.backend}{unsafe} --accept {names}"
        out.print(f"  {command}", style="cyan", soft_wrap=True)


def _guarantee_table(found: Findings) -> Table:
    table = Table(title=f"Guarantees of the {found.backend} backend", title_justify="left")
    table.add_column("guarantee", no_wrap=True)
    table.add_column("holds")
    table.add_column("by, or what to type")
    for guarantee in found.guarantees:
        holds = "[green]yes[/]" if guarantee.holds else "[bold red]no[/]"
        if not guarantee.holds and not found.required(guarantee):
            holds = "[yellow]no (optional)[/]"
        detail = guarantee.mechanism
        if not guarantee.holds and guarantee.remedy:
            detail = f"{detail}\n-> {guarantee.remedy}" if detail else f"-> {guarantee.remedy}"
        table.add_row(guarantee.name.value, holds, _escaped(detail))
    return table


def _show_toolchains(found: Findings, out: Console) -> None:
    from verifier.languages import PROBED

    table = Table(title="Languages", title_justify="left")
    table.add_column("language", no_wrap=True)
    table.add_column("toolchain")
    table.add_column("packages")
    for name in sorted({*PROBED, *found.toolchains}):
        version = _escaped(found.toolchains.get(name, "")) or "[yellow]absent[/]"
        packages = ", ".join(" ".join(one) for one in found.packages.get(name, {}).items())
        table.add_row(name, version, _escaped(packages))
    out.print(table)


def _show_host(host: HostFacts, out: Console) -> None:
    table = Table(title="Host", title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    cgroup = host.cgroup
    rows = {
        "system": host.distribution,
        "kernel": f"{host.kernel} {host.machine}",
        "python": host.python,
        "user": "root" if host.uid == 0 else f"uid {host.uid}",
        "cpus": f"{host.usable_cpus} usable of {host.cpus}",
        "memory": f"{host.memory_available_mb} MB available of {host.memory_mb} MB",
        "container": host.container or "no sign of one",
        "security modules": host.security_modules or "not readable",
        "user namespaces": ", ".join(f"{k} = {v}" for k, v in host.user_namespaces.items()) or "-",
        "cgroups": f"{cgroup.version}, {'writable' if cgroup.writable else 'not writable'}",
        "controllers": " ".join(cgroup.controllers) or "-",
    }
    for name, value in rows.items():
        table.add_row(name, _escaped(value))
    out.print(table)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)

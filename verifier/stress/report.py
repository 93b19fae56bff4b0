"""What was found, counted: by attack, by guarantee, and in all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Mark(str, Enum):
    """What became of one attack on one backend.

    HELD: it was stopped, for the right reason, and nothing of it is left.
    FAILED: it was not, or something is left.
    NOT_GUARANTEED: this host lacks a guarantee that the attack is aimed at. It was run and swept
        all the same; what it could do counts neither way.
    NO_TOOLCHAIN: the sandbox has no compiler for it.
    NOT_A_PROGRAM: a row of the list that no program can try; the detail says where it is held.
    """

    HELD = "held"
    FAILED = "FAILED"
    NOT_GUARANTEED = "not guaranteed"
    NO_TOOLCHAIN = "no toolchain"
    NOT_A_PROGRAM = "no program"


@dataclass(frozen=True, slots=True)
class Finding:
    """One attack on one backend.

    Attributes:
        key: Of the attack.
        id: Its row.
        title: What it does.
        backend: Where.
        guarantees: What it was aimed at.
        mark: See `Mark`.
        detail: One line for a person.
        problems: What was not as it should be.
        left: What was found after it that was not there before.
        runs: How often it was run.
        seconds: How long all of it took, with the sweep.
        cpu_time_s: Of its last run.
        printed: The head of its last run's standard output.
    """

    key: str
    id: str
    title: str
    backend: str
    guarantees: tuple[str, ...]
    mark: Mark = Mark.HELD
    detail: str = ""
    problems: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    runs: int = 0
    seconds: float = 0.0
    cpu_time_s: float = 0.0
    printed: str = ""

    def replace(self, **changes: Any) -> Finding:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    @property
    def group(self) -> str:
        """The part of the key before the slash."""
        return self.key.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Row:
    """One guarantee of one backend.

    Attributes:
        guarantee: Its name.
        attacks: How many are aimed at it.
        held: How many of them were stopped.
        failed: How many were not.
        not_guaranteed: How many do not count, since the host lacks the guarantee.
        other: The rest: no toolchain, no program.
    """

    guarantee: str
    attacks: int
    held: int
    failed: int
    not_guaranteed: int
    other: int


@dataclass(frozen=True, slots=True)
class Totals:
    """All findings, counted.

    `survivors` are things that were left behind by a run: processes, files, mounts and so on.
    """

    attacks: int
    backends: int
    runs: int
    held: int
    failed: int
    not_guaranteed: int
    no_toolchain: int
    no_program: int
    survivors: int

    def sentence(self) -> str:
        """One line for a person."""
        backends = "1 backend" if self.backends == 1 else f"{self.backends} backends"
        what = f"{self.attacks} attacks and checks on {backends}, {self.runs} runs"
        parts = [f"{what}: {self.held} held"]
        if self.not_guaranteed:
            parts.append(f"{self.not_guaranteed} not guaranteed here")
        if self.no_toolchain:
            parts.append(f"{self.no_toolchain} without a toolchain")
        parts.append(f"{self.failed} failed")
        return f"{', '.join(parts)}; survivors {self.survivors}"


def _count(findings: Sequence[Finding], mark: Mark) -> int:
    return sum(finding.mark is mark for finding in findings)


def totals(findings: Sequence[Finding]) -> Totals:
    """Count them. Rows that are no program are not attacks."""
    no_program = _count(findings, Mark.NOT_A_PROGRAM)
    return Totals(
        attacks=len(findings) - no_program,
        backends=len({finding.backend for finding in findings}),
        runs=sum(finding.runs for finding in findings),
        held=_count(findings, Mark.HELD),
        failed=_count(findings, Mark.FAILED),
        not_guaranteed=_count(findings, Mark.NOT_GUARANTEED),
        no_toolchain=_count(findings, Mark.NO_TOOLCHAIN),
        no_program=no_program,
        survivors=sum(len(finding.left) for finding in findings),
    )


def by_guarantee(findings: Sequence[Finding]) -> list[Row]:
    """One row for each guarantee, in the order of the first attack that is aimed at it."""
    names = dict.fromkeys(name for finding in findings for name in finding.guarantees)
    rows = []
    for name in names:
        aimed = [finding for finding in findings if name in finding.guarantees]
        held, failed = _count(aimed, Mark.HELD), _count(aimed, Mark.FAILED)
        missing = _count(aimed, Mark.NOT_GUARANTEED)
        rows.append(
            Row(name, len(aimed), held, failed, missing, len(aimed) - held - failed - missing)
        )
    return rows


def to_dict(
    findings: Sequence[Finding], guarantees: Sequence[dict[str, Any]], scope: dict[str, Any]
) -> dict[str, Any]:
    """The JSON of `verifier selfcheck --json`."""
    return {
        "totals": dataclasses.asdict(totals(findings)),
        "guarantees": list(guarantees),
        "by_guarantee": [dataclasses.asdict(row) for row in by_guarantee(findings)],
        "swept": scope,
        "attacks": [
            {**dataclasses.asdict(finding), "mark": finding.mark.value} for finding in findings
        ],
    }

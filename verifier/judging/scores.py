"""From the verdicts of all cases to one score.

- pass_rate: accepted cases over all cases (weights do not count). The default.
- weighted: the weight of accepted cases over the weight of all.
- all_or_nothing: 1.0 if all are accepted, else 0.0.
- first_n: the pass rate of the first n cases (verl's continuous mode: 10).
- subtasks: cases of one group are worth their weights only as far as the worst of them went
  (minimum within a group, sum across groups).

A case with partial points counts as many; a SKIPPED case is one that is not accepted: it is never
left out of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from verifier.errors import RequestError
from verifier.types import ScorePolicy, Status

SCORE_POLICIES: tuple[str, ...] = (
    "pass_rate",
    "all_or_nothing",
    "first_n",
    "weighted",
    "subtasks",
)


def aggregate(
    statuses: Sequence[Status],
    weights: Sequence[float],
    policy: ScorePolicy,
    *,
    points: Sequence[float | None] | None = None,
    groups: Sequence[str] | None = None,
) -> float:
    """The score, in [0, 1].

    Args:
        statuses: One per case.
        weights: One per case.
        policy: See the module.
        points: What a checker gave, in [0, 1], where it gave partial points.
        groups: The subtask of each case; for "subtasks". Without it each case is one.

    Raises:
        RequestError: Unknown policy, or `n` is not positive.
        ValueError: No cases, or as many weights are not there, or they do not add up to something
            (a fault of the caller: suites are checked when they are loaded).
    """
    if policy.name not in SCORE_POLICIES:
        raise RequestError(
            "score_policy",
            f"unknown policy {policy.name[:40]!r}; known: {', '.join(SCORE_POLICIES)}",
        )
    if not statuses:
        raise ValueError("no cases")
    worth = [1.0 if status is Status.ACCEPTED else 0.0 for status in statuses]
    for index, given in enumerate(points or ()):
        if given is not None:
            worth[index] = min(max(given, 0.0), 1.0)
    if policy.name == "all_or_nothing":
        return 1.0 if all(status is Status.ACCEPTED for status in statuses) else 0.0
    if policy.name == "weighted":
        return _weighted(worth, weights)
    if policy.name == "subtasks":
        return _subtasks(worth, weights, groups)
    if policy.name == "first_n":
        if policy.n < 1:
            raise RequestError("score_policy.n", f"must be positive, not {policy.n}")
        worth = worth[: policy.n]
    return math.fsum(worth) / len(worth)


def _weighted(worth: Sequence[float], weights: Sequence[float]) -> float:
    if len(weights) != len(worth):
        raise ValueError(f"{len(weights)} weights for {len(worth)} cases")
    total = math.fsum(weights)
    if not (0 < total < math.inf) or min(weights) < 0:
        raise ValueError("weights must be zero or more, finite, and not all zero")
    if all(w == 1.0 for w in worth):
        return 1.0
    return math.fsum(w * v for w, v in zip(weights, worth, strict=True)) / total


def _subtasks(
    worth: Sequence[float], weights: Sequence[float], groups: Sequence[str] | None
) -> float:
    names = groups if groups is not None else [str(i) for i in range(len(worth))]
    if len(names) != len(worth):
        raise ValueError(f"{len(names)} groups for {len(worth)} cases")
    worst: dict[str, float] = {}
    for name, value in zip(names, worth, strict=True):
        worst[name] = min(worst.get(name, 1.0), value)
    return _weighted([worst[name] for name in names], weights)


def overall_status(statuses: Sequence[Status]) -> Status:
    """ACCEPTED when all cases are, else the status of the first that is not.

    Raises:
        ValueError: No cases.
    """
    if not statuses:
        raise ValueError("no cases")
    return next((status for status in statuses if status is not Status.ACCEPTED), Status.ACCEPTED)

"""From the statuses of all cases to one score.

- pass_rate: accepted cases over all cases (weights do not count). The default.
- weighted: the weight of accepted cases over the weight of all.
- all_or_nothing: 1.0 if all are accepted, else 0.0.
- first_n: the pass rate of the first n cases (verl's continuous mode: 10).

A SKIPPED case is one that is not accepted: it is never left out of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from verifier.errors import RequestError
from verifier.types import ScorePolicy, Status

SCORE_POLICIES: tuple[str, ...] = ("pass_rate", "all_or_nothing", "first_n", "weighted")


def aggregate(statuses: Sequence[Status], weights: Sequence[float], policy: ScorePolicy) -> float:
    """The score, in [0, 1].

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
    passed = [status is Status.ACCEPTED for status in statuses]
    if policy.name == "all_or_nothing":
        return 1.0 if all(passed) else 0.0
    if policy.name == "weighted":
        return _weighted(passed, weights)
    if policy.name == "first_n":
        if policy.n < 1:
            raise RequestError("score_policy.n", f"must be positive, not {policy.n}")
        passed = passed[: policy.n]
    return sum(passed) / len(passed)


def _weighted(passed: Sequence[bool], weights: Sequence[float]) -> float:
    if len(weights) != len(passed):
        raise ValueError(f"{len(weights)} weights for {len(passed)} cases")
    total = math.fsum(weights)
    if not (0 < total < math.inf) or min(weights) < 0:
        raise ValueError("weights must be zero or more, finite, and not all zero")
    if all(passed):
        return 1.0
    return math.fsum(w for w, ok in zip(weights, passed, strict=True) if ok) / total


def overall_status(statuses: Sequence[Status]) -> Status:
    """ACCEPTED when all cases are, else the status of the first that is not.

    Raises:
        ValueError: No cases.
    """
    if not statuses:
        raise ValueError("no cases")
    return next((status for status in statuses if status is not Status.ACCEPTED), Status.ACCEPTED)

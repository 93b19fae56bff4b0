"""Early stop: the case after which nothing of a response counts any more. Pure.

A policy may end a response's run before its last case:

- `all_or_nothing`: the first case that is not accepted decides the score.
- `max_time_limit_hits`: after the k-th case that hit the time limit.
- `total_cpu_time_s`: at the first case at which the CPU time of the cases so far, its own with it,
  exceeds the budget. That case counts as TIME_LIMIT, whatever its run gave.

All three go by the index of the cases, not by the time at which they ended: what comes after the
cut is SKIPPED, also where it had run on another slot already. So a result does not depend on how
many slots there were, nor on which was faster.

`apply` is the rule. `Stop` finds, while cases come in in any order, an upper bound of the cut:
whatever lies behind that need not run. More cases can only move it forward.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
from collections.abc import Sequence

from verifier.errors import RequestError
from verifier.types import CaseResult, Limits, ScorePolicy, Status


def check_policy(policy: ScorePolicy) -> None:
    """Look at a policy's bounds.

    Raises:
        RequestError: One is negative or no number.
    """
    if policy.max_time_limit_hits < 0:
        raise RequestError(
            "score_policy.max_time_limit_hits",
            f"must be positive, or 0 for none, not {policy.max_time_limit_hits}",
        )
    if not (policy.total_cpu_time_s >= 0 and math.isfinite(policy.total_cpu_time_s)):
        raise RequestError(
            "score_policy.total_cpu_time_s",
            f"must be positive and finite, or 0 for none, not {policy.total_cpu_time_s}",
        )


def run_limits(limits: Limits, policy: ScorePolicy) -> Limits:
    """The limits of one run: no run may use more than all of them together."""
    budget_s = policy.total_cpu_time_s
    if not budget_s or budget_s >= limits.cpu_time_s:
        return limits
    return dataclasses.replace(limits, cpu_time_s=budget_s)


class Stop:
    """See the module.

    Attributes:
        cut: No case after this one counts; None while that is not known.
    """

    def __init__(self, policy: ScorePolicy, count: int) -> None:
        """Of a suite of so many cases."""
        self._decides = policy.name == "all_or_nothing"
        self._most_hits = policy.max_time_limit_hits
        self._budget_s = policy.total_cpu_time_s
        self.possible = bool(self._decides or self._most_hits or self._budget_s)
        self.cut: int | None = None
        self._hits: list[int] = []
        self._cpu_s: list[float | None] = [None] * count if self._budget_s else []
        self._next = 0
        self._sum_s = 0.0

    def beyond(self, index: int) -> bool:
        """Whether a case does not count."""
        return self.cut is not None and index > self.cut

    def note(self, case: CaseResult) -> None:
        """A case's verdict, that nothing will change."""
        if not self.possible:
            return
        if self._decides and case.status is not Status.ACCEPTED:
            self._at(case.index)
        if self._most_hits and case.status is Status.TIME_LIMIT:
            bisect.insort(self._hits, case.index)
            if len(self._hits) >= self._most_hits:
                self._at(self._hits[self._most_hits - 1])
        if self._budget_s:
            self._cpu_s[case.index] = case.cpu_time_s
            self._spend()

    def _spend(self) -> None:
        """By the cases before the first that is not known."""
        while self._next < len(self._cpu_s):
            spent_s = self._cpu_s[self._next]
            if spent_s is None:
                return
            self._sum_s += spent_s
            if self._sum_s > self._budget_s:
                self._at(self._next)
                self._next = len(self._cpu_s)
                return
            self._next += 1

    def _at(self, index: int) -> None:
        self.cut = index if self.cut is None else min(self.cut, index)


def apply(cases: Sequence[CaseResult | None], policy: ScorePolicy) -> tuple[list[CaseResult], str]:
    """The cases as they count, and why some do not ("" where all do).

    Args:
        cases: One per case of the suite; None for those that were found needless.
        policy: Whose rules hold.
    """
    found: list[CaseResult] = []
    hits, spent_s, why = 0, 0.0, ""
    for index, case in enumerate(cases):
        if case is None or why:
            found.append(CaseResult(index, Status.SKIPPED))
            continue
        spent_s += case.cpu_time_s
        if policy.total_cpu_time_s and spent_s > policy.total_cpu_time_s:
            why = f"the response used up its {policy.total_cpu_time_s:g} s of CPU"
            case = dataclasses.replace(  # noqa: PLW2901 - as it counts
                case, status=Status.TIME_LIMIT, message=f"{why} in all cases", points=None
            )
            why += " (total_cpu_time_s)"
        elif case.status is Status.TIME_LIMIT:
            hits += 1
            if hits == policy.max_time_limit_hits:
                why = f"{hits} cases hit the time limit (max_time_limit_hits)"
        if policy.name == "all_or_nothing" and case.status is not Status.ACCEPTED and not why:
            why = "a case was not accepted (all_or_nothing)"
        found.append(case)
        if why:
            why = f"stopped after case {index}: {why}"
    if not found or found[-1].status is not Status.SKIPPED:
        why = ""
    return found, why

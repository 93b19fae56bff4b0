"""How training scores code, where its settings say nothing else.

A step waits for its slowest sample, so a program that never ends costs two time limits and not one
for each of its cases, and whoever scores offline on the same gateway waits. See docs/scheduling.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifier.errors import ConfigError
from verifier.types import ScorePolicy

TRAINING_PRIORITY = 10
MAX_TIME_LIMIT_HITS = 2
STOP_SETTINGS = ("max_time_limit_hits", "total_cpu_time_s")


def training_policy(
    max_time_limit_hits: int | None = None, total_cpu_time_s: float | None = None
) -> ScorePolicy:
    """The pass rate, with an early stop.

    Args:
        max_time_limit_hits: See `ScorePolicy`; None: `MAX_TIME_LIMIT_HITS`, 0: never.
        total_cpu_time_s: See `ScorePolicy`; None: no bound.

    Raises:
        ConfigError: One is negative, or no number.
    """
    hits = MAX_TIME_LIMIT_HITS if max_time_limit_hits is None else max_time_limit_hits
    budget_s = 0.0 if total_cpu_time_s is None else total_cpu_time_s
    if isinstance(hits, bool) or not isinstance(hits, int) or hits < 0:
        raise ConfigError(f"max_time_limit_hits={hits!r}: a whole number, 0 for never")
    if isinstance(budget_s, bool) or not isinstance(budget_s, (int, float)) or not budget_s >= 0:
        raise ConfigError(f"total_cpu_time_s={budget_s!r}: seconds, 0 for no bound")
    return ScorePolicy(max_time_limit_hits=hits, total_cpu_time_s=float(budget_s))


def stop_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `STOP_SETTINGS` that are there."""
    return {name: given[name] for name in STOP_SETTINGS if given.get(name) is not None}

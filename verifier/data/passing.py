"""pass@k: the chance that at least one of k samples of a problem passes, averaged over problems.

The unbiased estimator for n >= k samples of which c pass is 1 - C(n - c, k) / C(n, k) (Chen et al.,
"Evaluating Large Language Models Trained on Code", 2021). Problems with fewer than k samples say
nothing about it and are left out. The interval is for the mean over problems that are drawn from
more of their kind: the mean and 1.96 standard errors to either side, cut at 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["PassAtK", "pass_at_k", "pass_chance"]

_Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class PassAtK:
    """One figure.

    Attributes:
        k: Samples.
        value: The estimate, in [0, 1].
        low: Lower end of the 95 % interval.
        high: Upper end.
        problems: With at least k samples.
        left_out: Problems with fewer.
    """

    k: int
    value: float
    low: float
    high: float
    problems: int
    left_out: int


def pass_chance(n: int, c: int, k: int) -> float:
    """The chance that k of n samples, of which c pass, hold one that passes.

    Raises:
        ValueError: Not 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} of {c} in {n}")
    # A product, as the binomials themselves are huge.
    return 1.0 - math.prod((n - c - i) / (n - i) for i in range(k))


def pass_at_k(counts: Iterable[tuple[int, int]], k: int) -> PassAtK | None:
    """Over problems.

    Args:
        counts: (samples, samples that passed) of each.
        k: From 1.

    Returns:
        None where no problem has k samples.
    """
    chances, left_out = [], 0
    for n, c in counts:
        if n < k:
            left_out += 1
        else:
            chances.append(pass_chance(n, c, k))
    if not chances:
        return None
    mean = math.fsum(chances) / len(chances)
    error = 0.0
    if len(chances) > 1:
        spread = math.fsum((chance - mean) ** 2 for chance in chances) / (len(chances) - 1)
        error = _Z_95 * math.sqrt(spread / len(chances))
    low, high = max(0.0, mean - error), min(1.0, mean + error)
    return PassAtK(k, mean, low, high, len(chances), left_out)

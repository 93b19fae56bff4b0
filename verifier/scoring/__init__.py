"""From a response and a ground truth to a score: scorers, the fallback, the routing table.

Names are loaded when they are first used (PEP 562): the processes that compare answers need none of
the engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verifier.scoring.local import LocalEngine, close_local_engines, local_engine
    from verifier.scoring.record import EXTRA_KEYS, ScoreRecord
    from verifier.scoring.routing import (
        CODE_SOURCES,
        DefaultScorer,
        answer_scorer,
        default_compute_score,
        default_compute_score_async,
        find_scorer,
        known_sources,
        register_scorer,
    )
    from verifier.scoring.sample import CallOptions, Sample
    from verifier.scoring.sandbox import SandboxScorer
    from verifier.scoring.symbolic import OnTimeout, close_symbolic_pool
    from verifier.scoring.unavailable import (
        FallbackCounts,
        FallbackStats,
        MixedGroup,
        OnUnavailable,
    )

__all__ = [
    "CODE_SOURCES",
    "EXTRA_KEYS",
    "CallOptions",
    "DefaultScorer",
    "FallbackCounts",
    "FallbackStats",
    "LocalEngine",
    "MixedGroup",
    "OnTimeout",
    "OnUnavailable",
    "Sample",
    "SandboxScorer",
    "ScoreRecord",
    "answer_scorer",
    "close_local_engines",
    "close_symbolic_pool",
    "default_compute_score",
    "default_compute_score_async",
    "find_scorer",
    "known_sources",
    "local_engine",
    "register_scorer",
]

_HOMES = {
    "local": ("LocalEngine", "close_local_engines", "local_engine"),
    "record": ("EXTRA_KEYS", "ScoreRecord"),
    "sample": ("CallOptions", "Sample"),
    "sandbox": ("SandboxScorer",),
    "symbolic": ("OnTimeout", "close_symbolic_pool"),
    "unavailable": ("FallbackCounts", "FallbackStats", "MixedGroup", "OnUnavailable"),
}


def __getattr__(name: str) -> object:
    """Load a public name on its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "routing")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))

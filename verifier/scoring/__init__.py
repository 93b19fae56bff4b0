"""From a response and a ground truth to a score: scorers, the fallback, the routing table."""

from __future__ import annotations

from verifier.scoring.local import LocalEngine, close_local_engines, local_engine
from verifier.scoring.record import EXTRA_KEYS, ScoreRecord
from verifier.scoring.routing import (
    CODE_SOURCES,
    DefaultScorer,
    default_compute_score,
    find_scorer,
    known_sources,
    register_scorer,
)
from verifier.scoring.sample import CallOptions, Sample
from verifier.scoring.sandbox import SandboxScorer
from verifier.scoring.unavailable import FallbackCounts, FallbackStats, MixedGroup, OnUnavailable

__all__ = [
    "CODE_SOURCES",
    "EXTRA_KEYS",
    "CallOptions",
    "DefaultScorer",
    "FallbackCounts",
    "FallbackStats",
    "LocalEngine",
    "MixedGroup",
    "OnUnavailable",
    "Sample",
    "SandboxScorer",
    "ScoreRecord",
    "close_local_engines",
    "default_compute_score",
    "find_scorer",
    "known_sources",
    "local_engine",
    "register_scorer",
]

"""Comparing answers as mathematics, in processes that can be killed.

SymPy may take seconds, or forever, on a short text, cannot be interrupted, and reads a text by
evaluating it as Python. So all of that happens in worker processes (`__main__.py`), which hold
nothing, under a CPU limit; what reaches them is checked first (`guard.py`).
"""

from __future__ import annotations

from verifier.scoring.symbolic.pool import (
    OnTimeout,
    OutOfTimeError,
    SymbolicPool,
    close_symbolic_pool,
    compared,
    symbolic_pool,
)

__all__ = [
    "OnTimeout",
    "OutOfTimeError",
    "SymbolicPool",
    "close_symbolic_pool",
    "compared",
    "symbolic_pool",
]

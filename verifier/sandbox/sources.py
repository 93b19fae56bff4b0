"""Artifacts that are sources: the first run of one byte-compiles it.

Compiling a short Python program takes a run of its own twice as long as compiling it. A slot that
knows how (`compiles_in_run`) runs a source instead: its first run compiles it, hands the byte code
to the runner before anything of the program runs, and bears the time.
"""

from __future__ import annotations

from verifier.runner.agent import jobs

# A longer one is compiled by itself, with limits of its own.
MAX_SOURCE_BYTES = 32 * 1024


def artifact_of(source: bytes) -> bytes:
    """What a slot runs in the place of byte code."""
    packed: bytes = jobs.pack([("main.py", 0, source)])
    return packed

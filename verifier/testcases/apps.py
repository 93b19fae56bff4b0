"""APPS and TACO: `input_output` (JSON text) with inputs, outputs and perhaps `fn_name`.

Calls take lists of arguments, and outputs are values; APPS wraps each in a list of one.
"""

from __future__ import annotations

import dataclasses

from verifier.errors import SuiteError
from verifier.testcases.fields import MIB, Context, decoded, mapping, memory_limit, time_limit
from verifier.testcases.prime import load_prime
from verifier.types import LimitOverrides, Suite


def load_apps(data: object, context: Context) -> Suite:
    """Read the value of `input_output`, or a row that has it."""
    row = mapping(data, "ground_truth")
    if "input_output" not in row:
        return load_prime(row, context, raw=True)
    if row["input_output"] in (None, ""):
        raise SuiteError("input_output", "empty")
    suite = load_prime(decoded(row["input_output"], "input_output"), context, raw=True)
    # TACO states limits in words ("2 seconds", "256 megabytes") or not at all.
    limits = LimitOverrides(
        cpu_time_s=time_limit(_first_word(row.get("time_limit")), "time_limit"),
        memory_bytes=memory_limit(_first_word(row.get("memory_limit")), "memory_limit", MIB),
    )
    return dataclasses.replace(suite, limits=limits)


def _first_word(value: object) -> object:
    if isinstance(value, str):
        words = value.split()
        return words[0] if words and words[0][:1].isdigit() else None
    return value

"""open-r1's Codeforces rows: tests, limits, and for many problems a checker in Python."""

from __future__ import annotations

import numbers

from verifier.errors import SuiteError
from verifier.testcases.fields import (
    MIB,
    Context,
    decoded,
    mapping,
    memory_limit,
    sequence,
    time_limit,
)
from verifier.testcases.helpers import checker_of
from verifier.testcases.io_rows import suite_of_rows
from verifier.types import LimitOverrides, Suite

_STANDARD_INPUT = (None, "", "stdio", "stdin", "standard input")


def load_codeforces(data: object, context: Context) -> Suite:
    """Read a row. `time_limit` is in seconds, `memory_limit` in megabytes."""
    row = mapping(data, "ground_truth")
    if row.get("input_mode") not in _STANDARD_INPUT:
        raise SuiteError(
            "input_mode", f"programs that read {str(row['input_mode'])[:40]!r} cannot be run"
        )
    if row.get("interaction_format"):
        raise SuiteError("interaction_format", "interactive problems cannot be judged by outputs")
    cases: list[object] = []
    for field in ("official_tests", "generated_tests"):
        # Of generated tests the data set has the number alone; the tests are files of their own.
        if row.get(field) is not None and not isinstance(row[field], numbers.Real):
            cases += sequence(decoded(row[field], field), field, context.max_cases)
            if len(cases) > context.max_cases:
                raise SuiteError(
                    field, f"{len(cases)} cases are over the limit of {context.max_cases}"
                )
    limits = LimitOverrides(
        cpu_time_s=time_limit(row.get("time_limit"), "time_limit"),
        memory_bytes=memory_limit(row.get("memory_limit"), "memory_limit", MIB),
    )
    checker = checker_of(row.get("generated_checker"), "generated_checker", "script")
    return suite_of_rows(cases, "official_tests", context, limits=limits, checker=checker)

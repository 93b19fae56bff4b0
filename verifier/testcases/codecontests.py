"""CodeContests: three groups of tests, each in two columns; any group may be empty or absent."""

from __future__ import annotations

from collections.abc import Mapping

from verifier.errors import SuiteError
from verifier.testcases.fields import (
    Context,
    decoded,
    mapping,
    memory_limit,
    paired,
    sequence,
    stdin_suite,
    time_limit,
)
from verifier.types import LimitOverrides, Suite

GROUPS = ("public_tests", "private_tests", "generated_tests")


def load_codecontests(data: object, context: Context) -> Suite:
    """Read a row. The groups follow each other in the order public, private, generated."""
    row = mapping(data, "ground_truth")
    inputs: list[object] = []
    outputs: list[object] = []
    for group in GROUPS:
        if row.get(group) is None:
            continue
        columns = _columns(decoded(row[group], group), group, context)
        inputs += columns[0]
        outputs += columns[1]
        if len(inputs) > context.max_cases:
            raise SuiteError(
                group, f"{len(inputs)} cases are over the limit of {context.max_cases}"
            )
    if not inputs:
        raise SuiteError("public_tests", "no cases in any group")
    paired(inputs, outputs, context)
    limits = LimitOverrides(
        cpu_time_s=time_limit(row.get("time_limit"), "time_limit"),
        memory_bytes=memory_limit(row.get("memory_limit_bytes"), "memory_limit_bytes", 1),
    )
    return stdin_suite(inputs, outputs, limits=limits)


def _columns(value: object, group: str, context: Context) -> tuple[list[object], list[object]]:
    if not isinstance(value, Mapping):  # rows, as some copies of the data have them
        rows = [mapping(item, group) for item in sequence(value, group, context.max_cases)]
        return [r.get("input") for r in rows], [r.get("output") for r in rows]
    columns = [
        list(
            sequence(
                value.get(name) if value.get(name) is not None else [],
                f"{group}.{name}",
                context.max_cases,
            )
        )
        for name in ("input", "output")
    ]
    if len(columns[0]) != len(columns[1]):
        raise SuiteError(
            f"{group}.output", f"{len(columns[1])} outputs for {len(columns[0])} inputs"
        )
    return columns[0], columns[1]

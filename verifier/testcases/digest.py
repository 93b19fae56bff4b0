"""The name of a suite: equal suites have equal digests, on every host and version of Python."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verifier.types import Checker, Interactor, LimitOverrides, Suite

# Part of what is hashed: bump when the meaning of a suite changes.
_VERSION = b"verifier.suite.1"


def suite_digest(suite: Suite) -> str:  # noqa: C901 - one line a field
    """Hex SHA-256 over all fields but `digest`, each preceded by its length."""
    sha = hashlib.sha256()

    def put(value: bytes | str | float | None) -> None:
        if value is None:
            sha.update(b"-;")
            return
        if isinstance(value, (int, float)):
            value = repr(float(value))
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        sha.update(b"%d:" % len(data))
        sha.update(data)

    def helper(program: Checker | Interactor) -> None:
        put(program.source)
        for value in (program.language, program.style, program.full_points, len(program.files)):
            put(value)
        for name, content in program.files:
            put(name)
            put(content)
        put(len(program.args))
        for arg in program.args:
            put(arg)
        for limit in _limits(program.limits):
            put(limit)

    put(_VERSION if suite.deterministic else _VERSION + b" not deterministic")
    put(suite.kind.value)
    put(suite.fn_name)
    put(suite.comparator.name)
    put(suite.comparator.abs_tol)
    put(suite.comparator.rel_tol)
    if suite.checker is None:
        put(None)
    else:
        helper(suite.checker)
    for limit in _limits(suite.limits):
        put(limit)
    put(suite.trust.value)
    put(suite.preamble)
    put(len(suite.cases))
    for case in suite.cases:
        put(case.stdin)
        put(case.expected)
        put(case.test)
        put(case.weight)
        if case.group:
            put("group " + case.group)
        if case.name:
            put("name " + case.name)
    if suite.interactor is not None:
        helper(suite.interactor)
    if (unit := suite.unit_tests) is not None:
        files = (part for file in unit.files for part in file)
        for part in (unit.framework, unit.solution_file, unit.language, *files):
            put(part)
    return sha.hexdigest()


def _limits(limits: LimitOverrides) -> tuple[float | None, ...]:
    return (
        limits.cpu_time_s,
        limits.wall_time_s,
        limits.memory_bytes,
        limits.output_bytes,
        limits.processes,
        limits.file_bytes,
        limits.open_files,
    )

r"""Writing results: one JSON object a line, ASCII, so that any text survives any reader.

Excerpts of standard output are bytes; they are decoded as UTF-8 with what is not UTF-8 shown as
`\\xNN`. The facts of the compiler are there when something was compiled, else null.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

from verifier import _fast
from verifier.data.rows import BadRow, Row
from verifier.types import (
    CaseResult,
    CompileFacts,
    Extraction,
    Outcome,
    Result,
    Timing,
    Trust,
)

# Microseconds: below that a measured time is noise.
_DIGITS = 6


def result_to_dict(
    result: Result, row: Row | BadRow, repeats: Sequence[Result] = ()
) -> dict[str, Any]:
    """A result row. Plain JSON values only; `score` is null exactly when there is no score.

    `repeats` are further results of the same row, where flaky verdicts are looked for: `flaky` is
    null where nobody looked.
    """
    whole = row if isinstance(row, Row) else None
    return {
        "id": row.id,
        "line": row.line,
        "file": row.file,
        "problem": whole.problem if whole else None,
        "data_source": whole.data_source if whole else None,
        "difficulty": _difficulty(whole),
        "outcome": result.outcome.value,
        "score": result.score,
        "passed": result.passed,
        "total": result.total,
        "status": None if result.status is None else result.status.value,
        "cases": [_case(case) for case in result.cases],
        "extraction": _extraction(result.extraction),
        "compile": _compile(result.compile),
        "timing": _timing(result.timing),
        "error": result.error,
        "trust": result.trust.value,
        "scorer": result.scorer,
        "runner": result.runner,
        "cached": result.cached,
        "fallback": result.fallback,
        "flaky": any(_verdict(other) != _verdict(result) for other in repeats) if repeats else None,
    }


def _difficulty(row: Row | None) -> str | None:
    said = row.extra_info.get("difficulty") if row else None
    return str(said) if isinstance(said, (str, int, float)) else None


def _verdict(result: Result) -> tuple[object, ...]:
    """What has to be the same each time."""
    return result.outcome, result.score, tuple(case.status for case in result.cases)


def bad_row_to_dict(bad: BadRow) -> dict[str, Any]:
    """The result row of a line that could not be read: broken data, with the reason."""
    result = Result(Outcome.INVALID_SUITE, error=bad.reason, scorer="", trust=Trust.ISOLATED)
    return result_to_dict(result, bad)


def to_line(result_row: dict[str, Any]) -> str:
    """One line of a results file, with its newline."""
    if _fast.orjson is not None:
        # It knows neither ASCII nor half of a surrogate pair: such rows are written the plain way.
        with contextlib.suppress(TypeError):
            line: bytes = _fast.orjson.dumps(result_row)
            if line.isascii():
                return line.decode("ascii") + "\n"
    return json.dumps(result_row, ensure_ascii=True, separators=(",", ":")) + "\n"


def result_of(line: bytes) -> dict[str, Any]:
    """What `to_line` wrote.

    Raises:
        ValueError: It did not write this.
    """
    if _fast.orjson is not None:
        with contextlib.suppress(ValueError):  # half of a surrogate pair is refused
            fast: dict[str, Any] = _fast.orjson.loads(line)
            return fast
    row: dict[str, Any] = json.loads(line)
    return row


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "index": case.index,
        "status": case.status.value,
        "cpu_time_s": round(case.cpu_time_s, _DIGITS),
        "wall_time_s": round(case.wall_time_s, _DIGITS),
        "queue_s": round(case.queue_s, _DIGITS),
        "memory_bytes": case.memory_bytes,
        "exit_code": case.exit_code,
        "signal": case.signal,
        "stdout": _excerpt(case.stdout),
        "stderr": _excerpt(case.stderr),
        "stdout_bytes": case.stdout_bytes,
        "stderr_bytes": case.stderr_bytes,
        "message": case.message,
        "points": case.points,
    }


def _extraction(extraction: Extraction | None) -> dict[str, Any] | None:
    if extraction is None:
        return None
    return {
        "language": extraction.language,
        "block_index": extraction.block_index,
        "block_count": extraction.block_count,
        "reason": extraction.reason,
        "reasoning_cut": extraction.reasoning_cut,
    }


def _compile(facts: CompileFacts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {
        "ok": facts.ok,
        "cached": facts.cached,
        "cpu_time_s": round(facts.facts.cpu_time_s, _DIGITS),
        "wall_time_s": round(facts.facts.wall_time_s, _DIGITS),
        "memory_bytes": facts.facts.memory_bytes,
        "message": facts.message,
    }


def _timing(timing: Timing) -> dict[str, float]:
    return {
        "cpu_time_s": round(timing.cpu_time_s, _DIGITS),
        "wall_time_s": round(timing.wall_time_s, _DIGITS),
        "queue_s": round(timing.queue_s, _DIGITS),
        "compile_s": round(timing.compile_s, _DIGITS),
        "total_s": round(timing.total_s, _DIGITS),
    }


def _excerpt(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")

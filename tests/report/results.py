"""Results files as `verifier score` writes them, and the rows that they are of."""

from __future__ import annotations

import json
import re

from verifier.data import Row, result_to_dict, to_line
from verifier.types import CaseResult, Extraction, Outcome, Result, Status, Timing

SOURCE = "def double(n):\n    # twice\n    return 2 * n\n\n\nprint(double(int(input())))\n"


def row_of(line: int, name: str, *, problem: str = "", source: str = "contests") -> Row:
    truth = {"inputs": ["1\n", "2\n"], "outputs": ["2\nend\n", "4\nend\n"]}
    response = f"Here:\n```python\n{SOURCE}```\n"
    return Row(line, name, source, response, truth, problem=problem or name)


def result_of(
    status: Status = Status.ACCEPTED,
    *,
    cpu: float = 0.1,
    memory: int = 9 << 20,
    stdout: bytes = b"4\nfin\n",
    message: str = "line 2: 'fin' is not 'end'",
) -> Result:
    won = status is Status.ACCEPTED
    second = CaseResult(
        1, status, cpu, cpu, 0.0, memory, stdout=stdout, stdout_bytes=len(stdout), message=message
    )
    return Result(
        Outcome.SCORED,
        score=1.0 if won else 0.5,
        status=status,
        passed=2 if won else 1,
        total=2,
        cases=(CaseResult(0, Status.ACCEPTED, cpu, cpu, 0.0, memory), second),
        timing=Timing(cpu_time_s=2 * cpu),
        extraction=Extraction("python", 0, 1, "the only block"),
    )


def fault(error: str = "the runner died") -> Result:
    return Result(Outcome.INFRA_ERROR, error=error)


def written(path, pairs):
    path.write_text("".join(to_line(result_to_dict(result, row)) for row, result in pairs))
    return path


def data_file(path, rows):
    lines = (
        json.dumps({name: getattr(row, name) for name in _FIELDS} | {"problem_id": row.problem})
        for row in rows
    )
    path.write_text("".join(line + "\n" for line in lines))
    return path


_FIELDS = ("id", "data_source", "response", "ground_truth")


def data_of(page: str):
    """What a page's script finds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])

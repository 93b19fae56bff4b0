"""What the results do not hold of a failure: input, expected output and program, from the data set.

The results are matched with the data's rows by id, and by line where an id is not alone. The
program is taken out of the response as it was for scoring; Pygments splits it into tokens, and the
page shows each as text with a class.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from verifier.data import BadRow, Row
from verifier.errors import SuiteError
from verifier.extraction import extract
from verifier.languages import written_as
from verifier.report.figures import Collected
from verifier.testcases import load_suite
from verifier.types import Case

__all__ = ["add_samples", "tokens"]

_MAX_CHARS = 2000
_MAX_CODE = 20_000
# First letters of Pygments' short names for tokens -> what the page colors.
_CLASSES = {"k": "k", "s": "s", "c": "c", "m": "m", "n": "n", "o": "o"}


def add_samples(found: Collected, rows: Iterable[Row | BadRow]) -> None:
    """Complete the failures that are kept.

    Args:
        found: Its failures gain `code`, `language`, and their cases `input` and `expected`.
        rows: Of the data set that was scored.
    """
    wanted: dict[str, list[dict[str, Any]]] = {}
    for failure in found.failures.values():
        wanted.setdefault(str(failure["id"]), []).append(failure)
    missing = len(found.failures)
    for row in rows:
        if not isinstance(row, Row) or row.id not in wanted:
            continue
        same = wanted[row.id]
        for failure in [one for one in same if len(same) == 1 or one["line"] == row.line]:
            missing -= "code" not in failure
            _complete(failure, row)
    if missing:
        found.notes.append(
            f"{missing} of {len(found.failures)} failures that are shown whole were not found in "
            "the data: is it the file that was scored?"
        )


def _complete(failure: dict[str, Any], row: Row) -> None:
    try:
        suite = load_suite(row.ground_truth)
    except SuiteError:
        suite = None  # the result says so already
    entry = suite.fn_name if suite else None
    program = extract(row.response, language=row.language, entry_point=entry).program
    if program is None:
        failure["code"] = [["", row.response[:_MAX_CODE]]]
        failure["language"] = "no program; the response"
        failure["cut"] = len(row.response) > _MAX_CODE
    else:
        source = program.source.decode("utf-8", "replace")
        failure["code"] = tokens(source[:_MAX_CODE], written_as(program.language) or "")
        failure["language"] = program.language
        failure["cut"] = len(source) > _MAX_CODE
    for case in failure["cases"]:
        if suite is not None and 0 <= case["index"] < len(suite.cases):
            case.update(_texts(suite.cases[case["index"]]))


def _texts(case: Case) -> dict[str, Any]:
    given = case.test if case.test is not None else case.stdin.decode("utf-8", "backslashreplace")
    made: dict[str, Any] = {"input": given[:_MAX_CHARS], "inputCut": len(given) > _MAX_CHARS}
    if case.expected is not None:
        expected = case.expected.decode("utf-8", "backslashreplace")
        made["expected"] = expected[:_MAX_CHARS]
        made["expectedCut"] = len(expected) > _MAX_CHARS
    return made


def tokens(source: str, language: str) -> list[list[str]]:
    """Source code as [class, text]; one token without a class where Pygments cannot read it."""
    try:
        lexers = importlib.import_module("pygments.lexers")
        names = importlib.import_module("pygments.token").STANDARD_TYPES
    except ModuleNotFoundError:
        return [["", source]]
    try:
        lexer = lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except importlib.import_module("pygments.util").ClassNotFound:
        return [["", source]]
    made: list[list[str]] = []
    for kind, text in lexer.get_tokens(source):
        name = _CLASSES.get(names.get(kind, "")[:1], "")
        name = name if names.get(kind, "") not in {"n", "nn", "nx"} else ""
        if made and (made[-1][0] == name or not text.strip()):
            made[-1][1] += text
        else:
            made.append([name, text])
    return made

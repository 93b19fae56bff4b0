r"""PRIME's second chance for an answer that the grader refused: numbers and tuples of numbers.

The rules of ToRA's `math_equal` (Gou et al., 2024) as verl 0.9.1 applies them: percentages count
as their fractions and the other way round, numbers are equal within a relative 1e-4, `\pi` is pi
(or 3.14), lists and intervals are compared element by element. There, two more steps (SymPy on both
sides) never run, because their time limit is not the context manager that they use it as; they do
not exist here. `math_verify` is the scorer for answers in many forms.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

from verifier.scoring.symbolic import guard
from verifier.scoring.symbolic.grader import PRIME, grade_answer

__all__ = ["grade", "math_equal"]

_TOLERANCE = 1e-4
_MAX_CHARS = 1000
_PI = "\\pi"
_DOLLARS = re.compile(r"\$\d+(\.\d+)?")
_PERCENT = re.compile(r"^\d+(\.\d+)?\\?%$")
_INTERVALS = (
    (re.compile(r"^Interval\((.*)\)$"), "[{}]"),
    (re.compile(r"^Interval\.Ropen\((.*)\)$"), "[{})"),
    (re.compile(r"^Interval\.Lopen\((.*)\)$"), "({}]"),
    (re.compile(r"^Interval\.open\((.*)\)$"), "({})"),
)
_MATRIX = "\\begin{pmatrix}"
_MATRIX_CALL = re.compile(r"Matrix\((.*)\)\s*", re.DOTALL)
# The names that a matrix of a response may have in it.
_MATRIX_WORDS = re.compile(r"(?:(?:Matrix|Rational|sqrt|pi|[a-zA-Z])\b|[^a-zA-Z_\"'\\])*")


def grade(answer: str, truth: str) -> bool:
    """Whether an answer is right: by the grader, or else by `math_equal`."""
    if grade_answer(answer, truth, PRIME):
        return True
    try:
        if _PI in answer or _PI in truth:
            # Both, whatever the first says: one that cannot be read decides.
            exact, rough = math_equal(answer, truth), math_equal(answer, truth, 3.14)
            return exact or rough
        return math_equal(answer, truth)
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - a text that cannot be read as numbers is equal to nothing
        return False


def math_equal(prediction: Any, reference: Any, pi: float = math.pi) -> bool:
    """Equal as texts, as numbers, or part by part.

    Args:
        prediction: A text; a number or a list of them within a matrix.
        reference: A text.
        pi: The value of pi.

    Raises:
        Exception: What the conversion of a text raises: they are not equal.
    """
    prediction, reference = _read(prediction, pi), _read(reference, pi)
    if isinstance(prediction, str):
        prediction = prediction[:_MAX_CHARS]
        if isinstance(reference, str) and _same_text(prediction, reference):
            return True
    given, wanted = _number(prediction), _number(reference)
    if given is not None and wanted is not None:
        scaled = (wanted / 100, wanted, wanted * 100)
        return any(math.isclose(value, given, rel_tol=_TOLERANCE) for value in scaled)
    if not prediction and prediction not in (0, False):
        return False
    given_text, wanted_text = _interval(str(prediction).strip()), str(reference).strip()
    if _same_without_brackets(given_text, wanted_text) or _same_parts(given_text, wanted_text):
        return True
    if "," in given_text and "," in wanted_text:
        parts = [part.strip() for part in given_text.split(",")]
        others = [part.strip() for part in wanted_text.split(",")]
        if len(parts) == len(others):
            return _all_equal(parts, others)
    if given_text.startswith("Point") and wanted_text[0] == "(" and wanted_text[-1] == ")":
        parts = given_text[given_text.find("(") + 1 : -1].split(",")
        others = wanted_text[1:-1].split(",")
        if len(parts) == len(others) and _all_equal(parts, others):
            return True
    return _MATRIX in wanted_text and _same_matrix(given_text, wanted_text)


def _read(answer: Any, pi: float) -> Any:
    if not isinstance(answer, str):
        return answer
    if _DOLLARS.match(answer):
        return answer[1:]
    if _PERCENT.match(answer):
        return answer.replace("\\%", "").replace("%", "")
    if "_" in answer:  # a number with its base
        return int(float(answer.split("_")[0]))
    if _PI not in answer:
        return answer
    at = answer.find(_PI)
    while at != -1:
        times = "*" if at > 0 and answer[at - 1].isdigit() else "1*"
        answer = f"{answer[:at]}{times}{pi}{answer[at + len(_PI) :]}"
        at = answer.find(_PI, at + 1)
    with contextlib.suppress(Exception):
        return guard.arithmetic(answer)
    return answer


def _same_text(given: str, wanted: str) -> bool:
    return given.strip().lower() == wanted.strip().lower() or given.replace(
        " ", ""
    ) == wanted.replace(" ", "")


def _number(value: Any) -> float | None:
    text = str(value)
    try:
        return float(text.replace("{,}" if "{,}" in text else ",", ""))
    except ValueError:
        return None


def _interval(text: str) -> str:
    for pattern, form in _INTERVALS:
        found = pattern.match(text)
        if found:
            return form.format(found[1])
    return text


def _same_without_brackets(given: str, wanted: str) -> bool:
    bare_given, bare_wanted = given, wanted
    square = given.startswith("[") and given.endswith("]") and not wanted.startswith("(")
    if square or (given.startswith("(") and given.endswith(")") and not wanted.startswith("[")):
        bare_given, bare_wanted = given.strip("[]()"), wanted.strip("[]()")
    for bracket in "{}()":
        bare_given, bare_wanted = bare_given.replace(bracket, ""), bare_wanted.replace(bracket, "")
    return bare_given == bare_wanted


def _same_parts(given: str, wanted: str) -> bool:
    if not given or not wanted or given[0] not in "([" or given[-1] not in ")]":
        return False
    if (given[0], given[-1]) != (wanted[0], wanted[-1]):
        return False
    parts, others = given[1:-1].split(","), wanted[1:-1].split(",")
    return len(parts) == len(others) and _all_equal(parts, others)


def _same_matrix(given: str, wanted: str) -> bool:
    if given.startswith("Matrix"):
        if not _MATRIX_CALL.fullmatch(given) or not _MATRIX_WORDS.fullmatch(given):
            return False
        try:
            items = list(guard.parse(given, implicit=False))
            others: list[Any] = wanted.split()[1:-1:2]
            return len(items) == len(others) and _all_equal(items, others)
        except ImportError:
            raise
        except Exception:  # noqa: BLE001 - not a matrix
            return False
    if not (given.startswith("[") and given.endswith("]")):
        return False
    rows = guard.arithmetic(given)
    if not isinstance(rows, list):
        return False
    body = wanted
    for end in ("\\" + _MATRIX, _MATRIX):
        body = body.removeprefix(end)
    for end in ("\\\\end{pmatrix}", "\\end{pmatrix}"):
        body = body.removesuffix(end)
    others = [row.split("&") if "&" in row else row for row in body.split("\\")]
    with contextlib.suppress(Exception):
        return len(rows) == len(others) and _all_equal(rows, others)
    return False


def _all_equal(given: list[Any], wanted: list[Any]) -> bool:
    # All of them, whatever the first says: one that cannot be read decides, wherever it is.
    verdicts = list(map(math_equal, given, wanted))
    return all(verdicts)

"""Grade-school math: the number behind `####` is the answer, and nothing else of the response is.

The rule of Cobbe et al., "Training Verifiers to Solve Math Word Problems" (2021), as ReFT (Trung et
al., 2024) and verl apply it to responses.
"""

from __future__ import annotations

import re
from typing import Literal

from verifier.errors import ConfigError
from verifier.scoring.latex import answer_text

__all__ = ["compute_score", "extract_solution"]

# The answer is at the end; the rest of a long response is not searched.
_TAIL_CHARS = 300
_MARKED = re.compile(r"#### (-?[0-9.,]+)")
_NUMBER = re.compile(r"-?[0-9.,]+")

Method = Literal["strict", "flexible"]


def extract_solution(solution_str: str, method: Method = "strict") -> str | None:
    """The answer in a response: the last number behind `#### `, without thousands separators.

    Args:
        solution_str: The response.
        method: "flexible" takes the last number wherever it is, as it is written.

    Raises:
        ConfigError: There is no such method.
    """
    tail = solution_str[-_TAIL_CHARS:]
    if method == "strict":
        marked = _MARKED.findall(tail)
        return marked[-1].replace(",", "") if marked else None
    if method != "flexible":
        raise ConfigError(f"method={method!r}: there are 'strict' and 'flexible'")
    numbers = _NUMBER.findall(tail)
    return next((n for n in reversed(numbers) if n != "."), numbers[0]) if numbers else None


def compute_score(
    solution_str: str,
    ground_truth: object,
    method: Method = "strict",
    format_score: float = 0.0,
    score: float = 1.0,
) -> float:
    """`score` for the right number, `format_score` for another one, 0 for none.

    Raises:
        SuiteError: The ground truth is no text and no number.
    """
    truth = answer_text(ground_truth)
    answer = extract_solution(solution_str, method)
    if answer is None:
        return 0.0
    return score if answer == truth else format_score

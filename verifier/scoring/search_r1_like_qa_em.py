"""Question answering with search: the last `<answer>` matches one of the accepted answers.

Normalization and exact match are SQuAD's (Rajpurkar et al., 2016): lower case, no punctuation, no
articles, single blanks. The form of the response and the penalty for many tags are Search-R1's.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from verifier.errors import SuiteError
from verifier.scoring.latex import answer_text
from verifier.scoring.sample import plain

__all__ = ["compute_score", "compute_score_subem", "extract_solution", "normalize_answer"]

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# More tags than these are a response that was written to hit the pattern.
_MAX_TAGS = 10


def normalize_answer(text: str) -> str:
    """The text as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def extract_solution(solution_str: str) -> str | None:
    """What the last `<answer>...</answer>` holds."""
    # Without a closing tag, every opening one would be searched to the end of the text.
    if "</answer>" not in solution_str:
        return None
    found = _ANSWER.findall(solution_str[: solution_str.rindex("</answer>") + len("</answer>")])
    return found[-1].strip() if found else None


def compute_score(
    solution_str: str, ground_truth: object, format_score: float = 0.0, score: float = 1.0
) -> float:
    """`score` for an accepted answer (a quarter of it with too many tags), else `format_score`.

    0 without an answer.

    Args:
        solution_str: The response.
        ground_truth: `{"target": accepted answer or list of them}`.
        format_score: For an answer that is wrong.
        score: For one that is right.

    Raises:
        SuiteError: The ground truth has no answers.
    """
    targets = _targets(ground_truth)
    answer = extract_solution(solution_str)
    if answer is None:
        return 0.0
    if normalize_answer(answer) not in targets:
        return format_score
    many = max(solution_str.count("<answer>"), solution_str.count("</answer>")) > _MAX_TAGS
    return score / 4 if many else score


def compute_score_subem(
    solution_str: str, ground_truth: object, format_score: float = 0.0, score: float = 1.0
) -> float:
    """As `compute_score`, where the answer has to contain an accepted one."""
    targets = _targets(ground_truth)
    answer = extract_solution(solution_str)
    if answer is None:
        return 0.0
    given = normalize_answer(answer)
    return score if any(target in given for target in targets) else format_score


def _targets(ground_truth: object) -> list[str]:
    if not isinstance(ground_truth, Mapping) or "target" not in ground_truth:
        raise SuiteError("ground_truth", "expected a mapping with the accepted answers in 'target'")
    target = plain(ground_truth["target"])
    listed = target if isinstance(target, list) else [target]
    if not listed:
        raise SuiteError("ground_truth.target", "there is no accepted answer")
    return [normalize_answer(answer_text(item, "ground_truth.target")) for item in listed]

r"""MATH: the last boxed answer against the ground truth, by their normal spelling.

Equal spelling alone counts, as in the benchmark's own scorer (see `verifier.scoring.latex`):
`0.25` is not `\frac{1}{4}`. `verifier.scoring.math_verify` compares values.
"""

from __future__ import annotations

from verifier.scoring.latex import answer_text, group_end, hendrycks

__all__ = ["boxed_answer", "compute_score"]

_BOX = "\\boxed"


def boxed_answer(text: str) -> str | None:
    r"""What the last `\boxed{...}` holds, or what follows the last `\boxed ` up to a dollar sign.

    None where there is no box, or the last one is not closed.
    """
    if _BOX + " " in text:
        return text.rpartition(_BOX + " ")[2].partition("$")[0]
    at = text.rfind(_BOX)
    if at < 0 or text[at + len(_BOX) : at + len(_BOX) + 1] != "{":
        return None
    end = group_end(text, at)
    return None if end is None else text[at + len(_BOX) + 1 : end]


def compute_score(solution_str: str, ground_truth: object) -> float:
    """1.0 for the right answer in a box, else 0.0.

    Raises:
        SuiteError: The ground truth is no text and no number.
    """
    truth = answer_text(ground_truth)
    answer = boxed_answer(solution_str)
    return 0.0 if answer is None else float(same_spelling(answer, truth))


def same_spelling(answer: str, truth: str) -> bool:
    """Equal after normalization; as they are, where one of them cannot be normalized."""
    try:
        return hendrycks(answer) == hendrycks(truth)
    except ValueError:
        return answer == truth

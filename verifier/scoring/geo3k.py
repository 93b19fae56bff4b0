r"""Geometry3k: nine tenths for the right answer in a box, one tenth for the form of the response.

The form is `<think>...</think>...\boxed{...}`. Answers are compared by the rules of mathruler 0.1.0
(`verifier.scoring.symbolic.grader`), which the data's own recipe uses; that package is not needed.
Answers that are spelled alike are compared here, all else in a worker process.

Needs the extra `math`.
"""

from __future__ import annotations

from verifier.scoring.latex import answer_text
from verifier.scoring.symbolic import OnTimeout, compared
from verifier.scoring.symbolic.grader import MATHRULER, same_spelling

__all__ = ["acc_reward", "boxed_answer", "compute_score", "format_reward"]

_BOX = "\\boxed{"
# What mathruler compares where there is no box.
_NO_BOX = "None"
CPU_S = 10.0


def format_reward(predict_str: str) -> float:
    r"""1.0 for a response that thinks in tags and then has a box."""
    if not predict_str.startswith("<think>"):
        return 0.0
    closed = predict_str.find("</think>", len("<think>"))
    box = predict_str.find(_BOX, closed + len("</think>")) if closed >= 0 else -1
    return float(box >= 0 and "}" in predict_str[box:])


def boxed_answer(text: str) -> str:
    r"""What the last `\boxed{...}` holds; "None" where there is none."""
    at = text.rfind(_BOX)
    if at < 0:
        return _NO_BOX
    content = text[at + len(_BOX) :]
    depth = 0
    for position, char in enumerate(content):
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return content[:position].strip()
    return _NO_BOX


def acc_reward(
    predict_str: str,
    ground_truth: object,
    use_boxed: bool = True,
    *,
    on_timeout: str | OnTimeout = OnTimeout.WRONG,
    cpu_s: float = CPU_S,
) -> float:
    """1.0 for the right answer, else 0.0.

    Args:
        predict_str: The response.
        ground_truth: The answer.
        use_boxed: The answer is in a box; else it is the whole response.
        on_timeout: See `OnTimeout`.
        cpu_s: CPU time of the comparison.

    Raises:
        SuiteError: The ground truth is no text and no number.
        ConfigError: The extra `math` is not installed.
        InfraError: The comparison could not be done (`OutOfTimeError` with on_timeout="raise").
    """
    policy = OnTimeout.parse(on_timeout)
    truth = answer_text(ground_truth)
    answer = boxed_answer(predict_str) if use_boxed else predict_str
    if same_spelling(answer, truth, MATHRULER):
        return 1.0
    return compared("mathruler", answer, truth, cpu_s=cpu_s, on_timeout=policy)


def compute_score(
    predict_str: str,
    ground_truth: object,
    use_boxed: bool = True,
    format_score: float = 0.1,
    *,
    on_timeout: str | OnTimeout = OnTimeout.WRONG,
    cpu_s: float = CPU_S,
) -> float:
    """The weighted sum of both; see `acc_reward`."""
    right = acc_reward(predict_str, ground_truth, use_boxed, on_timeout=on_timeout, cpu_s=cpu_s)
    return (1.0 - format_score) * right + format_score * format_reward(predict_str)

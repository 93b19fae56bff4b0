"""The six `numina_*` sources: what a response states as its answer, compared as PRIME does.

The answer is found by phrases ("the answer is", "answer:"), by the last box, and by the last of the
words that come before a value; then the rules of `verifier.scoring.symbolic.grader` and `.prime`
decide. Answers that are spelled alike are compared here, all else in a worker process.

Needs the extra `math`.
"""

from __future__ import annotations

from verifier.scoring.latex import answer_text, group_end
from verifier.scoring.symbolic import OnTimeout, compared
from verifier.scoring.symbolic.grader import PRIME, same_spelling

__all__ = ["compute_score", "match_answer"]

# The answer is behind these,
_BEFORE = ("answer:", "answer is", "answers are")
# before these,
_BEHIND = ("is answer", "is the answer", "are answers", "are the answers")
# and within that behind these, one after the other.
_LEADS = ("be ", "is ", "are ", "=", ": ", "get ", "be\n", "is\n", "are\n", ":\n", "get\n")
CPU_S = 10.0


def match_answer(response: str) -> str:
    """What a response states as its answer; all of it, where it states none."""
    for marker in _BEFORE:
        response = _behind(response, marker)
    for marker in _BEHIND:
        at = response.lower().rfind(marker)
        if at != -1:
            response = response[:at].strip()
    response = _boxed(response) or response
    sentence_end = response.rfind(". ")
    if sentence_end != -1:
        response = response[:sentence_end].strip()
    for marker in _LEADS:
        response = _behind(response, marker)
    return response


def compute_score(
    solution_str: str,
    ground_truth: object,
    *,
    on_timeout: str | OnTimeout = OnTimeout.WRONG,
    cpu_s: float = CPU_S,
) -> float:
    """1.0 for the right answer, else 0.0.

    Args:
        solution_str: The response.
        ground_truth: The answer.
        on_timeout: See `OnTimeout`.
        cpu_s: CPU time of the comparison.

    Raises:
        SuiteError: The ground truth is no text and no number.
        ConfigError: The extra `math` is not installed.
        InfraError: The comparison could not be done (`OutOfTimeError` with on_timeout="raise").
    """
    policy = OnTimeout.parse(on_timeout)
    truth = answer_text(ground_truth)
    answer = match_answer(solution_str)
    if same_spelling(answer, truth, PRIME):
        return 1.0
    return compared("prime_math", answer, truth, cpu_s=cpu_s, on_timeout=policy)


def _behind(text: str, marker: str) -> str:
    at = text.lower().rfind(marker)
    return text if at == -1 else text[at + len(marker) :].strip()


def _boxed(text: str) -> str | None:
    at = text.rfind("\\boxed")
    if at < 0:
        at = text.rfind("\\fbox")
    start = text.find("{", at) if at >= 0 else -1
    end = group_end(text, at) if start >= 0 else None
    return None if end is None else text[start + 1 : end].strip()

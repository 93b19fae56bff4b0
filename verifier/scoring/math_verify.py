r"""Hugging Face's math-verify as a scorer: sets, intervals, matrices, numbers in any form.

More forgiving than the spelling of MATH's own scorer, so it is an option, and one line makes it the
scorer of a source:

    register_scorer("my/math", answer_scorer(math_verify.compute_score))

math-verify interrupts itself by `signal.alarm`, which works in the main thread alone; here it runs
in a worker process, from any thread and any event loop.

Needs the extra `math`.
"""

from __future__ import annotations

from verifier.scoring.latex import answer_text
from verifier.scoring.symbolic import OnTimeout, compared

__all__ = ["compute_score"]

CPU_S = 30.0


def compute_score(
    model_output: str,
    ground_truth: object,
    timeout_score: float = 0.0,
    timeout: float = CPU_S,
    *,
    on_timeout: str | OnTimeout = OnTimeout.WRONG,
) -> float:
    """1.0 for a response with an answer that is equal to the true one, else 0.0.

    Args:
        model_output: The response.
        ground_truth: The answer, in LaTeX or plain.
        timeout_score: The score of a comparison that takes too long.
        timeout: CPU seconds of the comparison.
        on_timeout: RAISE: there is no score then.

    Raises:
        SuiteError: The ground truth is no text and no number.
        ConfigError: The extra `math` is not installed.
        InfraError: The comparison could not be done (`OutOfTimeError` with on_timeout="raise").
    """
    policy = OnTimeout.parse(on_timeout)
    boxed = "\\boxed{" + answer_text(ground_truth) + "}"
    return compared(
        "math_verify",
        model_output,
        boxed,
        cpu_s=timeout,
        on_timeout=policy,
        timeout_score=timeout_score,
    )

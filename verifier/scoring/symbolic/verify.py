"""math-verify on one answer: parsed as LaTeX and as expressions, compared as mathematics.

Its own time limits are alarms of wall-clock time, which would make the verdict depend on the host;
they are off, and the worker's clock is the only one.
"""

from __future__ import annotations

__all__ = ["verify"]


def verify(response: str, truth: str) -> bool:
    """Whether an answer in the response is equal to the boxed ground truth."""
    from math_verify.grader import verify as equal
    from math_verify.parser import ExprExtractionConfig, LatexExtractionConfig, parse

    wanted = parse(truth, (LatexExtractionConfig(),), parsing_timeout=None)
    given = parse(response, (ExprExtractionConfig(), LatexExtractionConfig()), parsing_timeout=None)
    return any(equal(w, g, timeout_seconds=None) for g in given for w in wanted)

r"""The text side of math answers: what is in a box, and one spelling for equal LaTeX.

Two rules that a dozen graders share: the boxed answer is the last one of the response, and two
answers are equal when their spellings are, after the normalization of Hendrycks et al., "Measuring
Mathematical Problem Solving With the MATH Dataset" (2021). Nothing here computes anything:
`\frac{2}{4}` is not `\frac{1}{2}`.
"""

from __future__ import annotations

import re

from verifier._text import excerpt
from verifier.errors import SuiteError

__all__ = ["answer_text", "group_end", "hendrycks"]

# What is dropped or respelled before anything else, in this order.
_FIRST = (
    ("\n", ""),
    ("\\!", ""),  # a negative space
    ("\\\\", "\\"),
    ("tfrac", "frac"),
    ("dfrac", "frac"),
    ("\\left", ""),
    ("\\right", ""),
    ("^{\\circ}", ""),
    ("^\\circ", ""),
    ("\\$", ""),
)
_UNIT = "\\text{ "  # only a unit is written with a blank there
_HALF = "\\frac{1}{2}"


def answer_text(ground_truth: object, field: str = "ground_truth") -> str:
    """A ground truth that has to be a text; numbers become theirs (72 and 72.0 are "72").

    Raises:
        SuiteError: It is neither.
    """
    if isinstance(ground_truth, str):
        return ground_truth
    if isinstance(ground_truth, bool) or not isinstance(ground_truth, (int, float)):
        kind = type(ground_truth).__name__
        raise SuiteError(
            field, f"expected the answer as text, not {kind} {excerpt(str(ground_truth), 40)}"
        )
    if isinstance(ground_truth, float) and ground_truth.is_integer():
        return str(int(ground_truth))
    return str(ground_truth)


def group_end(text: str, start: int) -> int | None:
    """Where the first group at or after `start` ends: the index of its closing brace, or None."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
    return None


def hendrycks(answer: str, *, bare_percent: bool = False) -> str:
    r"""The normal spelling of an answer.

    Args:
        answer: LaTeX, or a plain text.
        bare_percent: A percent sign goes away without its backslash too.

    Raises:
        ValueError: It is not well-formed enough to be respelled (`\frac` with nothing behind it).
    """
    for old, new in _FIRST:
        answer = answer.replace(old, new)
    if _UNIT in answer:
        answer, _, rest = answer.partition(_UNIT)
        if _UNIT in rest:
            raise ValueError("two units")
    answer = answer.replace("\\\\%", "").replace("\\%", "")
    if bare_percent:
        answer = answer.replace("%", "")
    answer = answer.replace(" .", " 0.").replace("{.", "{0.")
    if not answer:
        return answer
    if answer[0] == ".":
        answer = "0" + answer
    name, equals, value = answer.partition("=")
    if equals and "=" not in value and len(name) <= 2:  # "x = 5" states the 5
        answer = value
    answer = _braced_fractions(_braced_roots(answer).replace(" ", ""))
    return _slash(_HALF if answer == "0.5" else answer)


def _braced_roots(text: str) -> str:
    r"""`\sqrt3` as `\sqrt{3}`."""
    head, *roots = text.split("\\sqrt")
    parts = [head]
    for root in roots:
        if not root:
            raise ValueError("a root of nothing")
        parts.append("\\sqrt" + (root if root[0] == "{" else f"{{{root[0]}}}{root[1:]}"))
    return "".join(parts)


def _braced_fractions(text: str) -> str:
    r"""`\frac12`, `\frac1{72}` with braces around both; `\frac{72}1` stays."""
    head, *fractions = text.split("\\frac")
    parts = [head]
    for fraction in fractions:
        if not fraction:
            raise ValueError("a fraction of nothing")
        if fraction[0] != "{":
            if len(fraction) < 2:
                return text
            over, under, rest = fraction[0], fraction[1], fraction[2:]
            fraction = f"{{{over}}}" + (under if under == "{" else f"{{{under}}}") + rest  # noqa: PLW2901
        parts.append("\\frac" + fraction)
    return "".join(parts)


_SLASH = re.compile(r"(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)")


def _slash(text: str) -> str:
    r"""`1/2` as `\frac{1}{2}`: integers alone."""
    found = _SLASH.fullmatch(text)
    return f"\\frac{{{found[1]}}}{{{found[2]}}}" if found else text

r"""The scorer of DAPO's math data and of AIME: `Answer: ...` near the end, else a box.

The spelling is normalized as for Minerva (Lewkowycz et al., 2022, appendix D.1). A right answer is
1.0 and a wrong one -1.0, as DAPO (Yu et al., 2025) has it.
"""

from __future__ import annotations

import re
from typing import Any

from verifier.scoring.latex import answer_text, group_end

__all__ = ["compute_score", "normalize_final_answer"]

_TAIL_CHARS = 300
# Where there is no "Answer:", a box counts in these last characters.
_BOX_CHARS = 100
_BOX = "\\boxed{"
NO_ANSWER = "[INVALID]"

_ANSWER = re.compile(r"(?i)Answer\s*:\s*([^\n]+)")

# Minerva's two tables, in its order.
_RESPELLED = (
    ("an ", ""),
    ("a ", ""),
    (".$", "$"),
    ("\\$", ""),
    ("\\ ", ""),
    (" ", ""),
    ("mbox", "text"),
    (",\\text{and}", ","),
    ("\\text{and}", ","),
    ("\\text{m}", "\\text{}"),
)
_WORDS = (
    "square ways integers dollars mph inches hours km units \\ldots sue points feet minutes digits "
    "cents degrees cm gm pounds meters meals edges students childrentickets multiples"
)
_DROPPED = (
    *_WORDS.split(),
    "\\text{s}",
    "\\text{.}",
    "\\text{\ns}",
    "\\text{}^2",
    "\\text{}^3",
    "\\text{\n}",
    "\\text{}",
    "\\mathrm{th}",
    "^\\circ",
    "^{\\circ}",
    "\\;",
    ",\\!",
    "{,}",
    '"',
    "\\dots",
)
_UNWRAPPED = (
    (re.compile(r"(.*?)(\$)(.*?)(\$)(.*)"), r"$\3$"),  # of a line, the math in it
    (re.compile(r"(\\text\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\textbf\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\overline\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\boxed\{)(.*)(\})"), r"\2"),
    (re.compile(r"(frac)([^{])(.)"), r"frac{\2}{\3}"),
    (re.compile(r"(sqrt)([^{])"), r"sqrt{\2}"),
)


def normalize_final_answer(answer: str) -> str:
    """The normal spelling of an answer: what follows its last equals sign, without units."""
    answer = answer.rpartition("=")[2]
    for old, new in _RESPELLED:
        answer = answer.replace(old, new)
    for word in _DROPPED:
        answer = answer.replace(word, "")
    for pattern, kept in _UNWRAPPED:
        answer = pattern.sub(kept, answer)
    answer = answer.replace("$", "")
    digits = answer.replace(",", "")
    return (digits if digits.isdigit() else answer).strip()


def compute_score(
    solution_str: str, ground_truth: object, strict_box_verify: bool = False
) -> dict[str, Any]:
    """`{"score": 1.0 or -1.0, "acc": bool, "pred": the answer that was found or None}`.

    Args:
        solution_str: The response; its last 300 characters are read.
        ground_truth: The answer.
        strict_box_verify: A box alone counts.

    Raises:
        SuiteError: The ground truth is no text and no number.
    """
    truth = answer_text(ground_truth)
    correct, found = _judge(solution_str[-_TAIL_CHARS:], truth, strict_box_verify)
    return {"score": 1.0 if correct else -1.0, "acc": correct, "pred": found}


def _judge(tail: str, truth: str, strict_box: bool) -> tuple[bool, str | None]:
    boxed = _boxed(tail[-_BOX_CHARS:])
    if strict_box:
        return boxed == truth, boxed
    stated = _ANSWER.findall(tail)
    found = normalize_final_answer(stated[-1]) if stated else NO_ANSWER
    if found == NO_ANSWER and boxed is not None:
        return boxed == truth, boxed
    return found == normalize_final_answer(truth), found


def _boxed(text: str) -> str | None:
    at = text.rfind(_BOX)
    end = group_end(text, at) if at >= 0 else None
    return None if end is None else text[at + len(_BOX) : end]

r"""Whether two answers are equal, by the rules of the PRM800K grader (Lightman et al., 2023).

1. Equal by the spelling of Hendrycks et al.: equal.
2. Else both are made plain (units, text and LaTeX markup away, large numbers without commas). Equal
   texts are equal.
3. Else tuples and intervals element by element: fractions of digits only as they are (an unreduced
   one is wrong), an integer only against an integer, all else by SymPy: the difference simplifies
   to 0.

Two graders in use are this one with small changes, which `Rules` names.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

from verifier.scoring.latex import hendrycks
from verifier.scoring.symbolic import guard

__all__ = ["MATHRULER", "PRIME", "Rules", "grade_answer", "same_spelling"]

_UNITS = (
    "degree cm centimeter meter mile second minute hour day week month year foot feet inch yard"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between the graders.

    Attributes:
        units: Words that are dropped, with their plurals and exponents.
        bare_percent: See `hendrycks`.
        glue: Blanks and braces that are left after the LaTeX is gone go away too.
    """

    units: tuple[str, ...] = tuple(_UNITS.split())
    bare_percent: bool = False
    glue: bool = False


PRIME = Rules(units=(*_UNITS.split(), "liter"))
"""PRIME's (Cui et al., 2025), which verl uses for the `numina_*` sources."""
MATHRULER = Rules(bare_percent=True, glue=True)
"""mathruler 0.1.0's, which verl uses for geometry3k."""

_TEXT = re.compile(r"^\\text\{(?P<text>.+?)\}$")
_SIGNS = (
    ("\\%", "%"),
    ("\\$", "$"),
    ("$", ""),
    ("%", ""),
    (" or ", " , "),
    (" and ", " , "),
    ("million", "*10^6"),
    ("billion", "*10^9"),
    ("trillion", "*10^12"),
)
# What pylatexenc makes of LaTeX, as SymPy spells it.
_SPELLED = (("√", "sqrt"), ("π", "pi"), ("∞", "inf"), ("∪", "U"), ("·", "*"), ("×", "*"))  # noqa: RUF001
_THOUSANDS = re.compile(r"(\d)(,)(\d\d\d)($|\D)")
_MIXED = re.compile(r"([0-9]) +([0-9])")
_FRACTION = re.compile(r"^-?[0-9]+.?/0*[1-9][0-9]*.?$")
_BRACKETS = "()[]"
# SymPy may hang on these.
_POWERS = ("^{", "^(")
_HIGH_POWERS = (re.compile(r"\^[0-9]+\^"), re.compile(r"\^[0-9][0-9]+"))
_MAX_LETTERS = 2
_WHOLE = 1e-7


def same_spelling(answer: str, truth: str, rules: Rules) -> bool:
    """The first rule: no computation, and nothing that can take long."""
    return _spelled(answer, rules) == _spelled(truth, rules)


def grade_answer(answer: str, truth: str, rules: Rules) -> bool:
    """Whether an answer is equal to the true one."""
    if same_spelling(answer, truth, rules):
        return True
    given, wanted = _plain(answer, rules), _plain(truth, rules)
    if given == wanted:
        return True
    if not given:
        return False
    given_parts, wanted_parts = _elements(given), _elements(wanted)
    if len(wanted_parts) > 1 and (wanted[0], wanted[-1]) != (given[0], given[-1]):
        return False
    if len(given_parts) != len(wanted_parts):
        return False
    # As in the original: no elements at all is what nothing is equal to.
    return bool(wanted_parts) and all(map(_equal, given_parts, wanted_parts))


def _equal(given: str, wanted: str) -> bool:
    if _FRACTION.search(wanted) and _FRACTION.search(given):
        return given == wanted
    if _is_whole(wanted) != _is_whole(given):
        return False
    return _difference_is_zero(wanted, given)


def _difference_is_zero(wanted: str, given: str) -> bool:
    text = f"({wanted})-({given})"
    letters = {c for c in text.replace("sqrt", "").replace("frac", "") if c.isalpha()}
    if len(letters) > _MAX_LETTERS or any(power in text for power in _POWERS):
        return False
    if any(power.search(text) for power in _HIGH_POWERS):
        return False
    import sympy

    try:
        return bool(sympy.simplify(guard.parse(text.replace("^", "**"))) == 0)
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - a text that is no expression is equal to nothing
        return False


def _spelled(answer: str, rules: Rules) -> str:
    answer = answer.strip()
    found = _TEXT.search(answer)
    inner = found["text"].strip() if found else answer
    try:
        return hendrycks(inner, bare_percent=rules.bare_percent)
    except ValueError:
        return inner


def _plain(answer: str, rules: Rules) -> str:
    found = _TEXT.search(answer)
    text = found["text"] if found else answer
    for old, new in _SIGNS:
        text = text.replace(old, new)
    for unit in rules.units:
        text = re.sub(rf"{unit}(es)?(s)? *(\^[0-9]+)?", "", text)
    text = re.sub(r"\^ *\\circ", "", text)
    if text and text[0] == "{" and text[-1] == "}":
        text = text[1:-1]
    text = re.sub(r",\\! *", "", text)
    number = _float(text)
    if number is not None and _near_whole(number):
        text = str(round(number))
    if "\\" in text:
        with contextlib.suppress(Exception):
            text = _without_latex(text)
    text = _MIXED.sub(r"\1+\2", re.sub(r"- *", "-", text))  # 7 3/4 is 7+3/4
    if rules.glue:
        text = text.replace(" ", "").replace("{", "").replace("}", "")
    text = text.lower()
    if _is_whole(text):
        text = str(int(float(text.replace(",", ""))))
    return text


def _without_latex(text: str) -> str:
    from pylatexenc import latex2text

    text = text.replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac")
    text = text.replace("\\frac", " \\frac")  # so that mixed numbers stay mixed
    text = latex2text.LatexNodes2Text().latex_to_text(text)
    for old, new in _SPELLED:
        text = text.replace(old, new)
    return str(text).strip()


def _without_thousands(text: str) -> str:
    while True:
        shorter = _THOUSANDS.sub(r"\1\3\4", text)
        if shorter == text:
            return text
        text = shorter


def _elements(text: str) -> list[str]:
    text = _without_thousands(text)
    if not text:
        return []
    inner = text[1:-1]
    if (
        len(text) > 2
        and text[0] in _BRACKETS
        and text[-1] in _BRACKETS
        and not any(bracket in inner for bracket in _BRACKETS)
    ):
        return [element.strip() for element in inner.split(",")]
    return [text]


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _near_whole(number: float) -> bool:
    try:
        return abs(number - round(number)) <= _WHOLE
    except (OverflowError, ValueError):
        return False


def _is_whole(text: str) -> bool:
    number = _float(_without_thousands(text))
    return number is not None and _near_whole(number)

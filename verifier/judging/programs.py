"""What the run of a checker or an interactor says. Pure, like all of judging: the engine runs them.

A checker answers by an exit code, a number it prints, or a value it returns (its styles are in
`verifier.types.Checker`). Whatever it does instead is `Broken`: its fault, never the program's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from verifier import _json
from verifier._text import excerpt
from verifier.judging.facts import classify, ended, explain, limit_status
from verifier.judging.verdict import Verdict
from verifier.types import Checker, Interactor, Limits, RunFacts, Status

__all__ = [
    "CHECKER_STYLES",
    "INTERACTOR_STYLES",
    "Answer",
    "Broken",
    "answer_of",
    "conversation",
    "is_final",
]

CHECKER_STYLES: tuple[str, ...] = ("function", "testlib", "script", "kattis")
INTERACTOR_STYLES: tuple[str, ...] = ("testlib", "kattis")

# testlib.h: _ok; _wa, _pe, and _dirt and _unexpected_eof, which are _pe unless asked for otherwise.
_RIGHT = {"testlib": 0, "kattis": 42}
_WRONG = {"testlib": (1, 2, 4, 8), "kattis": (43,)}
_FAIL, _POINTS = 3, 7
_POINTS_LINE = re.compile(rb"^[ \t]*points[ \t]+([^\s]{1,40})", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_PAIR = 2
_LARGE = 1e300


@dataclass(frozen=True, slots=True)
class Broken:
    """The checker or interactor did not answer as its style asks; `reason` is for a person."""

    reason: str


Answer: TypeAlias = "Verdict | Broken"


def answer_of(helper: Checker | Interactor, facts: RunFacts, limits: Limits) -> Answer:
    """The verdict that a checker's or an interactor's run gives.

    Args:
        helper: Which.
        facts: Of its run, not of the program's.
        limits: Of its run.
    """
    broken = limit_status(facts, limits)
    if broken is not None:
        return Broken(explain(broken, facts, limits))
    if helper.style == "function":
        return _returned(facts)
    if helper.style == "script":
        return _printed(facts)
    return _exited(helper, facts)


def conversation(
    interactor: Interactor,
    program: RunFacts,
    limits: Limits,
    partner: RunFacts,
    partner_limits: Limits,
) -> Answer:
    """Who is to blame where a program and an interactor talked, by DOMjudge's rules.

    Who ended first counts, for the other one may have failed only because of that. A verdict
    "wrong" of an interactor that ended first holds whatever the program did then, without its
    partner; a program that broke a limit or crashed first is judged by that; a deadlock is ended by
    the program's wall limit.

    Args:
        interactor: The program's partner.
        program: Facts of the program's run.
        limits: Of the program's run.
        partner: Facts of the interactor's run.
        partner_limits: Of the interactor's run.
    """
    answer = answer_of(interactor, partner, partner_limits)
    if partner.ended_ns < program.ended_ns and is_final(answer):
        return answer
    status = classify(program, limits)
    if status is not None:
        return Verdict(status, explain(status, program, limits))
    return answer


def is_final(answer: Answer) -> bool:
    """Whether an interactor's answer holds, whatever the program does after it."""
    if isinstance(answer, Broken):
        return True
    return answer.status is not Status.ACCEPTED and answer.points is None


def _returned(facts: RunFacts) -> Answer:
    """A function's value: bool, number, or one of these with a message."""
    if facts.returned is None:
        return Broken(f"it ended before check() returned: {ended(facts)}")
    try:
        record = _json.loads(facts.returned)
    except ValueError:
        return Broken("it gave no value that can be read")
    if not isinstance(record, dict) or record.get("ok") is not True:
        error = record.get("error") if isinstance(record, dict) else None
        return Broken(f"check() failed: {excerpt(str(error or 'no reason given'))}")
    value, message = record.get("value"), ""
    if isinstance(value, list) and len(value) == _PAIR and isinstance(value[1], (str, type(None))):
        value, message = value[0], excerpt(value[1] or "")
    if isinstance(value, bool):
        return _share(1.0 if value else 0.0, message)
    if isinstance(value, (int, float)):
        # An integer may be beyond all floats.
        return _share(float(value) if abs(value) < _LARGE else math.inf, message)
    return Broken(f"check() returned '{excerpt(str(value), 80)}', which is no bool and no number")


def _printed(facts: RunFacts) -> Answer:
    """open-r1's scripts print 1, 100 or 0, and some a part of 1 or of 100."""
    shown = excerpt(facts.stdout.strip(), 80)
    number = _number(b"".join(facts.stdout.split()))
    if number is None:
        return Broken(f"it printed '{shown}', which is no number: {ended(facts)}")
    if (facts.exit_code != 0 or facts.signal is not None) and number != 0:
        return Broken(f"it printed '{shown}', and then: {ended(facts)}")
    return _share(number / 100 if number > 1 else number, "")


def _exited(helper: Checker | Interactor, facts: RunFacts) -> Answer:
    """The exit codes of testlib and of Kattis."""
    code, style = facts.exit_code, helper.style
    said = _first_line(facts)
    if code == _RIGHT[style]:
        return Verdict(Status.ACCEPTED, said)
    if code in _WRONG[style]:
        return Verdict(Status.WRONG_ANSWER, said)
    if style == "testlib" and code == _POINTS:
        found = _POINTS_LINE.findall(facts.stderr)
        number = _number(found[-1]) if found else None
        if number is None:
            return Broken(f"it exited with 7 and gave no points: '{said}'")
        return _share(number / helper.full_points, said)
    if style == "testlib" and code == _FAIL:
        return Broken(ended(facts) if said.startswith("Traceback") else f"it failed: {said}")
    return Broken(ended(facts))


def _share(share: float, message: str) -> Answer:
    if not 0.0 <= share <= 1.0:  # also not a number
        return Broken(f"{share:g} of a full score is not from 0 to 1")
    if share == 1.0:
        return Verdict(Status.ACCEPTED, message)
    return Verdict(
        Status.WRONG_ANSWER,
        message or (f"{share:g} of a full score" if share else "the checker says no"),
        share or None,
    )


def _number(text: bytes) -> float | None:
    """A plain decimal number."""
    decoded = text.decode("ascii", "replace")
    if not _NUMBER.fullmatch(decoded):
        return None
    number = float(decoded)
    return number if math.isfinite(number) else None


def _first_line(facts: RunFacts) -> str:
    """What it said: standard error is testlib's, standard output the rest's."""
    for stream in (facts.stderr, facts.stdout):
        line = next((part.strip() for part in stream[:4096].split(b"\n") if part.strip()), b"")
        if line:
            return excerpt(line)
    return ""

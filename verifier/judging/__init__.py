"""From facts to a verdict: pure, outside of the jail, and the same for every caller.

`classify` reads who ended a run and how; where the program ended by itself, `judge` compares what
it said with what was expected; `aggregate` makes one number of all cases.
"""

from __future__ import annotations

from verifier.judging.comparators import COMPARATORS, compare
from verifier.judging.facts import classify
from verifier.judging.match import Match
from verifier.judging.scores import SCORE_POLICIES, aggregate, overall_status
from verifier.judging.verdict import Verdict, judge

__all__ = [
    "COMPARATORS",
    "SCORE_POLICIES",
    "Match",
    "Verdict",
    "aggregate",
    "classify",
    "compare",
    "judge",
    "overall_status",
]

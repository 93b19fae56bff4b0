"""From facts to a verdict: pure, outside of the jail, and the same for every caller.

`classify` reads who ended a run and how; where the program ended by itself, `judge` compares what
it said with what was expected; `aggregate` makes one number of all cases.
"""

from __future__ import annotations

from verifier.judging.comparators import COMPARATORS, compare
from verifier.judging.facts import classify
from verifier.judging.match import Match
from verifier.judging.programs import (
    CHECKER_STYLES,
    INTERACTOR_STYLES,
    Answer,
    Broken,
    answer_of,
    conversation,
    is_final,
)
from verifier.judging.scores import SCORE_POLICIES, aggregate, overall_status
from verifier.judging.unit_tests import (
    UnitTestReport,
    all_unit_tests,
    read_unit_tests,
    unit_test_results,
    unit_test_verdict,
)
from verifier.judging.verdict import Verdict, judge

__all__ = [
    "CHECKER_STYLES",
    "COMPARATORS",
    "INTERACTOR_STYLES",
    "SCORE_POLICIES",
    "Answer",
    "Broken",
    "Match",
    "UnitTestReport",
    "Verdict",
    "aggregate",
    "all_unit_tests",
    "answer_of",
    "classify",
    "compare",
    "conversation",
    "is_final",
    "judge",
    "overall_status",
    "read_unit_tests",
    "unit_test_results",
    "unit_test_verdict",
]

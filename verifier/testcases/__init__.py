"""From a ground truth to a `Suite`: one file per format, one kind of error.

`load_suite` finds the format by the data's shape, or is told. Every defect of the data is a
`SuiteError` that names the field; nothing is repaired by guessing case by case (a decision is made
once for all cases of a suite, so that a case cannot be judged more gently than its neighbor).
"""

from __future__ import annotations

from verifier.testcases.digest import suite_digest
from verifier.testcases.load import FORMATS, has_known_shape, load_suite
from verifier.testcases.packages import load_problem_package
from verifier.testcases.pieces import Pieces

__all__ = [
    "FORMATS",
    "Pieces",
    "has_known_shape",
    "load_problem_package",
    "load_suite",
    "suite_digest",
]

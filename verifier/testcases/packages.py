"""Problem packages in folders: Kattis and ICPC, Polygon, and what looks like Polygon's.

    problem.yaml   Kattis, ICPC: data/**/*.in with .ans, output_validator(s)/, limits
    problem.xml    Polygon's full package: the tests it lists, check.cpp, interactor.cpp, testlib.h
    tests/         neither: every file with an answer beside it, check.cpp and interactor.cpp if any

A package that asks for what cannot be judged here (several passes, scores of a validator's own, a
build script, flags that differ between groups of tests) is refused, not judged in another way.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from verifier.errors import SuiteError
from verifier.testcases.digest import suite_digest
from verifier.testcases.kattis import load_kattis
from verifier.testcases.polygon import load_polygon, load_tests_folder
from verifier.types import Suite


def load_problem_package(path: str | Path, *, max_cases: int = 100_000) -> Suite:
    """Read a problem package.

    Args:
        path: Its folder.
        max_cases: More are refused.

    Raises:
        SuiteError: It is no package, or asks for what cannot be judged; names the file.
        ConfigError: It is described in YAML, and PyYAML is not installed.
    """
    root = Path(path)
    if (root / "problem.yaml").is_file():
        suite = load_kattis(root)
    elif (root / "problem.xml").is_file():
        suite = load_polygon(root)
    elif (root / "tests").is_dir():
        suite = load_tests_folder(root)
    else:
        raise SuiteError("package", "no problem.yaml, no problem.xml and no folder tests in it")
    if not suite.cases:
        raise SuiteError("package", "no cases")
    if len(suite.cases) > max_cases:
        raise SuiteError("package", f"{len(suite.cases)} cases are over the limit of {max_cases}")
    return dataclasses.replace(suite, digest=suite_digest(suite))

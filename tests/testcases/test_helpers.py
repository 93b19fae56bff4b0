"""Checkers and interactors in data: what their text says they are, and what is wrong with them."""

from __future__ import annotations

import pytest

from verifier.errors import SuiteError
from verifier.testcases import load_suite
from verifier.testcases.helpers import checker_of, interactor_of
from verifier.types import Checker, Interactor, LimitOverrides

FUNCTION = "def check(a, b, c):\n    return True"
SCRIPT = "import sys\nprint(open(sys.argv[1]).read() == '')"
CPP = "\n # include <cstdio>\nint main() {}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        (FUNCTION, Checker(FUNCTION)),
        (FUNCTION.encode(), Checker(FUNCTION)),
        ("check = lambda a, b, c: 1", Checker("check = lambda a, b, c: 1")),
        ("from m import *", Checker("from m import *")),
        (SCRIPT, Checker(SCRIPT, style="script")),
        (CPP, Checker(CPP, "cpp", "testlib")),
        ({"source": FUNCTION, "language": "Python 3"}, Checker(FUNCTION)),
        ({"source": CPP, "language": None, "style": "kattis"}, Checker(CPP, "cpp", "kattis")),
        ({"source": "x", "language": "c"}, Checker("x", "c", "testlib")),
        ({"source": SCRIPT, "style": "testlib"}, Checker(SCRIPT, style="testlib")),
        (
            {
                "source": CPP,
                "files": {"a.h": "1"},
                "args": ["-x"],
                "limits": {"cpu_time_s": 3},
                "full_points": 100,
            },
            Checker(
                CPP,
                "cpp",
                "testlib",
                (("a.h", b"1"),),
                ("-x",),
                LimitOverrides(cpu_time_s=3),
                100.0,
            ),
        ),
    ],
)
def test_what_a_checker_is(value, expected):
    assert checker_of(value, "checker") == expected


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (5, "checker"),
        ([FUNCTION], "checker"),
        ("def check(a, b, c:", "checker"),
        ("def judge(a, b, c): pass", "checker"),
        ({}, "checker.source"),
        ({"source": " "}, "checker.source"),
        ({"source": 1}, "checker.source"),
        ({"source": FUNCTION, "langauge": "c"}, "checker.langauge"),
        ({"source": FUNCTION, "language": "klingon"}, "checker.language"),
        ({"source": FUNCTION, "style": "best"}, "checker.style"),
        ({"source": "x = 1", "style": "function"}, "checker"),
        ({"source": FUNCTION, "args": "x"}, "checker.args"),
        ({"source": FUNCTION, "files": {"../x": ""}}, "checker.files"),
        ({"source": FUNCTION, "files": ["x"]}, "checker.files"),
        ({"source": FUNCTION, "files": {"x": 1}}, "checker.files.x"),
        ({"source": FUNCTION, "limits": {"cpu": 1}}, "checker.limits.cpu"),
        ({"source": FUNCTION, "limits": {"cpu_time_s": -1}}, "checker.limits.cpu_time_s"),
        ({"source": FUNCTION, "full_points": 0}, "checker.full_points"),
    ],
)
def test_what_is_wrong_with_a_checker(value, field):
    with pytest.raises(SuiteError) as caught:
        load_suite({"inputs": ["1"], "outputs": ["1"], "checker": value})
    assert caught.value.field == field


def test_interactors():
    assert interactor_of(None, "interactor") is None
    assert interactor_of(CPP, "interactor") == Interactor(CPP)
    assert interactor_of(SCRIPT, "interactor") == Interactor(SCRIPT, "python")
    with pytest.raises(SuiteError, match="interactor: not valid Python"):
        interactor_of("def f(", "interactor")
    with pytest.raises(SuiteError, match="no style 'function'"):
        interactor_of({"source": CPP, "style": "function"}, "interactor")
    with pytest.raises(SuiteError, match="interactor: it cannot judge the results"):
        load_suite({"fn_name": "f", "inputs": ["1"], "outputs": ["1"], "interactor": CPP})


def test_a_codeforces_row_says_what_its_checker_is():
    row = {"official_tests": [{"input": "1", "output": "2"}], "generated_checker": FUNCTION}
    assert load_suite(row).checker == Checker(FUNCTION, style="script")

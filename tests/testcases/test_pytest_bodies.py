"""Bodies of pytest and unittest tests, written out as calls."""

from __future__ import annotations

import contextlib
import os
import sys
import types

import pytest

from verifier.errors import SuiteError
from verifier.runner.agent import pytest_shim
from verifier.testcases import load_suite

# name -> (body, a function that is right, which of its tests a wrong function `f = 0` fails)
BODIES = {
    "functions": (
        "from solution import f\ndef test_a():\n    assert f(1) == 2\n"
        "def test_b():\n    assert 1\n",
        [False, True],
    ),
    "parameters": (
        "import pytest\n"
        "@pytest.mark.parametrize('a, b', [(1, 2), (0, 0), pytest.param(3, 6, id='x')])\n"
        "def test_a(a, b):\n    assert f(a) == b\n",
        [False, True, False],
    ),
    "one parameter": (
        "import pytest\n@pytest.mark.parametrize('a', [1,\n    0])\ndef test_a(a):\n"
        "    assert f(a) == 2 * a\n",
        [False, True],
    ),
    "two rows of parameters": (
        "import pytest\n@pytest.mark.parametrize('a', [1, 0])\n"
        "@pytest.mark.parametrize(('b', 'c'), [(2, 2)])\n"
        "def test_a(a, b, c):\n    assert f(a) == a * b and b == c\n",
        [False, True],
    ),
    "parameters that are computed": (
        "import pytest\nCASES = [(n, 2 * n) for n in range(4)]\n"
        "@pytest.mark.parametrize('a,b', CASES)\ndef test_a(a, b):\n    assert f(a) == b\n",
        [False],
    ),
    "parameters of a method": (
        "import pytest\nclass TestF:\n    @pytest.mark.parametrize('a,b', [(1, 2), (0, 0)])\n"
        "    def test_a(self, a, b):\n        assert f(a) == b\n",
        [False, True],
    ),
    "fixtures": (
        "import pytest\n@pytest.fixture\ndef one():\n    return 1\n@pytest.fixture()\n"
        "def two(one):\n    yield one + one\n"
        "def test_a(one, two):\n    assert f(one) == two\n"
        "def test_b(tmp_path, one=5):\n    assert f(0) == 0 and tmp_path.exists() and one == 5\n",
        [False, True],
    ),
    "skipped ones": (
        "import pytest, unittest\n"
        "@pytest.mark.skip(reason='x')\ndef test_a():\n    assert f(1) == 3\n"
        "@pytest.mark.xfail\ndef test_b():\n    assert f(1) == 3\n"
        "class T(unittest.TestCase):\n    @unittest.skip('x')\n    def test_c(self): self.fail()\n"
        "    def test_d(self): assert f(1) == 2\n"
        "@pytest.mark.skip\nclass TestE:\n    def test_e(self): assert f(1) == 3\n",
        [False],
    ),
    "fixtures of pytest's own": (
        "import os\ndef test_a(capsys):\n    print(f(1))\n"
        "    assert capsys.readouterr() == ('2\\n', '')\n    assert capsys.readouterr().out == ''\n"
        "def test_b(monkeypatch):\n    monkeypatch.setenv('TWO', '2')\n"
        "    monkeypatch.setattr('os.sep', '|')\n    monkeypatch.setitem(os.environ, 'A', 'b')\n"
        "    monkeypatch.delenv('A')\n"
        "    assert f(1) == int(os.environ['TWO']) and os.sep == '|' and 'A' not in os.environ\n",
        [False, False],
    ),
    "a fixture for all": (
        "import pytest\nSEEN = []\n@pytest.fixture(autouse=True)\ndef fill():\n    SEEN.append(1)\n"
        "def test_a():\n    assert f(1) == 2 and SEEN == [1]\n",
        [False],
    ),
    "set-up methods": (
        "class TestF:\n    @classmethod\n    def setup_class(cls):\n        cls.x = 1\n"
        "    def setup_method(self, method):\n        self.y = 2\n"
        "    def test_a(self):\n        assert f(self.x) == self.y\n",
        [False],
    ),
    "unittest": (
        "import unittest\nclass F(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
        "        cls.y = 2\n    def setUp(self):\n        self.x = 1\n    def test_a(self):\n"
        "        self.assertEqual(f(self.x), self.y)\n    def test_b(self):\n"
        "        with self.subTest(1):\n"
        "            self.assertRaises(ZeroDivisionError, lambda: 1 / 0)\n"
        "class G(F):\n    def test_c(self):\n        self.assertEqual(f(self.x), 2)\n"
        "if __name__ == '__main__':\n    unittest.main()\n",
        [False, True, False],
    ),
    "a helper that looks like a test": (
        "def test_one(a, b):\n    assert f(a) == b\ndef test_all():\n    test_one(1, 2)\n",
        [False],
    ),
    "asynchronous": ("async def test_a():\n    assert f(1) == 2\n", [False]),
    "no test": ("assert f(1) == 2\n", [False]),
}  # fmt: skip


def outcome(source: str, f) -> bool:
    """Whether a test source passes, run as the jail runs it, but in this process."""
    try:
        exec(compile(source, "test", "exec"), {"f": f, "__name__": "__tests__"})
    except AssertionError:
        return False
    return True


@pytest.fixture
def shim(monkeypatch) -> None:
    # What a test's own `monkeypatch` changes for good.
    monkeypatch.setattr(os, "sep", os.sep)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(sys.modules, "pytest", pytest_shim.module())
    monkeypatch.setitem(sys.modules, "solution", types.ModuleType("solution"))


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    body, wrong = BODIES[name]
    cases = [case.test for case in load_suite({"test": body}, fmt="kodcode").cases]
    assert [outcome(test, lambda x: 2 * x) for test in cases] == [True] * len(wrong)
    assert [outcome(test, lambda x: 0) for test in cases] == wrong


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("def test_a(caplog):\n    assert f(1)", "asks for 'caplog'"),
        ("import pytest\n@pytest.mark.skip\ndef test_a(): assert f(1)", "every test is skipped"),
        (
            "import pytest\n@pytest.fixture\ndef a(b): pass\n@pytest.fixture\ndef b(a): pass\n"
            "def test_x(a): pass",
            "needs itself",
        ),
        (
            "import pytest\n@pytest.mark.parametrize(x, [1])\ndef test_x(x): pass",
            "without names",
        ),
        (
            "import pytest\n@pytest.mark.parametrize('a', [" + "1," * 5000 + "])\n"
            "def test_x(a): pass",
            "over 4096 sets",
        ),
        (
            "import pytest\n@pytest.mark.parametrize('a', [0x" + "f" * 9000 + "])\n"
            "def test_x(a): pass",
            "cannot be written out",
        ),
    ],
)  # fmt: skip
def test_what_no_program_could_pass_is_broken_data(body: str, problem: str) -> None:
    with pytest.raises(SuiteError, match=problem):
        load_suite({"test": body}, fmt="kodcode")


def test_many_tests_of_a_long_body_are_refused() -> None:
    body = "x = 1\n" * 2000 + "".join(f"def test_{n}(a): assert f(a)\n" for n in range(3000))
    with pytest.raises(SuiteError, match="asks for 'a'"):
        load_suite({"test": body}, fmt="kodcode")
    with pytest.raises(SuiteError, match="3000 tests of"):
        load_suite({"test": body.replace("(a)", "()")}, fmt="kodcode")


def test_many_sets_are_few_tests() -> None:
    body = (
        "import pytest\n@pytest.mark.parametrize('a', [" + "1," * 1000 + "])\n"
        "def test_x(a):\n    assert f(a)\n"
    )
    cases = load_suite({"test": body}, fmt="kodcode").cases
    assert len(cases) == 63
    assert sum(case.test.count("test_x(a=1)") for case in cases) == 1000


def test_lines_keep_their_numbers() -> None:
    body = (
        "import pytest\nfrom solution import (\n    f,\n)\n@pytest.mark.parametrize(\n    'a',\n"
        "    [1],\n)\ndef test_x(a):\n    raise KeyError(a)\n"
    )
    (case,) = load_suite({"test": body}, fmt="kodcode").cases
    with contextlib.suppress(KeyError):
        exec(compile(case.test, "test", "exec"), {})
    assert case.test.split("\n")[9] == body.split("\n")[9]

"""What is read out of a test's source: where it has to run, and which function it is about."""

from __future__ import annotations

import pytest

from verifier.testcases import load_suite
from verifier.types import Trust


@pytest.mark.parametrize(
    ("test", "trust"),
    [
        ("a = P(1)\nb = P(1)\nassert a == b", Trust.IN_PROCESS),
        ("a = P(1)\nassert -a < 0", Trust.IN_PROCESS),
        ("v = Vector(1, 2)\nassert (v + v).x == 2", Trust.IN_PROCESS),
        ("s = Stack()\ns.push(1)\nassert s is not None\nassert s.pop() == 1", Trust.ISOLATED),
        ("s = Solution()\nassert s.f(2) == 4", Trust.ISOLATED),
        ("s = Solution()\nassert not s.f(2)", Trust.ISOLATED),
        ("d = Decimal('1')\nassert d == f(1)", Trust.ISOLATED),
        ("assert len({P(1), P(1)}) == 1", Trust.IN_PROCESS),
        ("import pandas as pd\nassert f(pd.DataFrame({'a': [1]})) == 1", Trust.IN_PROCESS),
        ("import numpy as np\nassert f(np.array([1])) == 1", Trust.ISOLATED),
        ("from unittest.mock import Mock\nassert f(Mock(return_value=1)) == 1", Trust.IN_PROCESS),
        ("import builtins\nbuiltins.input = lambda *_: '1'\nassert f() == 1", Trust.IN_PROCESS),
        ("import io\nassert f(io.StringIO('a')) == 'a'", Trust.IN_PROCESS),
        ("open('a', 'w').write('b')\nassert f('a') == 'b'", Trust.IN_PROCESS),
        ("def test_a(tmp_path):\n    assert f(tmp_path)", Trust.IN_PROCESS),
        ("def test_a(capsys):\n    f()\n    assert capsys.readouterr().out", Trust.IN_PROCESS),
        ("import os\nos.makedirs('a')\nassert f('a') == 0", Trust.IN_PROCESS),
        ("s = FileSystem()\ns.mkdir('/a')\nassert s.ls('/') == ['a']", Trust.ISOLATED),
        ("a = Account()\na.open()\nassert a.balance == 0", Trust.ISOLATED),
    ],
)
def test_objects_of_the_program_are_compared_where_they_are(test, trust):
    assert load_suite({"assert_case": [test]}).trust is trust


@pytest.mark.parametrize(
    ("tests", "name"),
    [
        (["assert sum([1, 2]) == 3", "assert sum([]) == 0"], "sum"),
        (["assert list(filter(None, [0])) == []"], None),
        (["assert len(f('a')) == 1", "assert len(f('b')) == 1"], "f"),
        (["assert f(1)", "assert g(1)"], None),
        (["assert len([1]) == 1", "assert sum([1]) == 1"], None),
    ],
)
def test_the_function_that_every_test_calls(tests, name):
    assert load_suite({"assert_case": tests}).fn_name == name

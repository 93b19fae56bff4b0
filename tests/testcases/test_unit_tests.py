"""Test files as ground truths: which tests there are, and what is refused."""

from __future__ import annotations

import json
import re
import time

import pytest

from verifier.errors import SuiteError
from verifier.judging import (
    all_unit_tests,
    read_unit_tests,
    unit_test_results,
    unit_test_verdict,
)
from verifier.testcases import load_suite
from verifier.testcases.test_names import tests_in as listed
from verifier.types import (
    Case,
    Killer,
    Limits,
    RunFacts,
    Status,
    SuiteKind,
    Trust,
    UnitTestStatus,
)

JEST = r"""
import { describe } from '@jest/globals';
// test('no', () => {})
const quote = /['"]/g;
describe('outer', () => {
  it('adds "x"', () => { expect(f("test('inner', ()")).toBe(1); });
  describe.each([[1, 2], [3, 4]])('each %i', (a) => { test(`t ${a}`, async () => {}); });
  test.each`
   a | b
   ${1} | ${2}
  `('sums $a', ({ a }) => {});
  it.skip('no', () => {});
  xit('no either', () => {});
  test.todo('later');
});
describe.skip('not', () => { test('this', () => {}); });
for (const c of cases) { test(c.name, () => {}); }
test('last', () => { foo.test('x', 1); });
"""
RUST = """
use solution::*; // }
#[test]
fn adds() { let c = '{'; let l: &'static str = "}"; }
mod inner {
  use super::*;
  #[test] #[should_panic(expected = "x]")] fn boom() { let x = r#"{"#; }
  #[test]
  #[ignore]
  fn slow() {}
  fn helper() {}
}
#[test]
fn last() -> Result<(), String> { Ok(()) }
"""
JAVA = """
package a.b;
class SumTest {
  @Test void adds() { Runnable r = new Runnable() { public void run() {} }; }
  @ParameterizedTest @ValueSource(ints = {1, 2}) void many(int x) {}
  @org.junit.Test(expected = X.class)
  public void old() throws Exception {}
  @Disabled("x") @Test void no() {}
  @BeforeEach void setUp() {}
  void helper() { foo(); }
  @Nested class Inner { @DisplayName("a } (") @Test void in() {} }
  static abstract class Base { @Test void base() {} }
}
class Old extends junit.framework.TestCase { public void testIt() {} public void other() {} }
"""
GO = """package a
/*
func TestNo(t *testing.T) {}
*/
func TestA(t *testing.T) {}
func TestMain(m *testing.M) {}
func Testify(t *testing.T) {}
func Test_b(tt *testing.T) {}
"""
PYTHON = """import pytest
def test_a(): pass
@pytest.mark.parametrize("a", [1])
def test_b(a): pass
@pytest.mark.skip
def test_c(): pass
class TestX:
    def test_m(self): pass
    def helper(self): pass
"""


def shown(framework, files):
    return [test.shown for test in listed(framework, files)]


def test_tests_are_found_without_running_them():
    tests = listed("jest", {"a.test.ts": JEST})
    assert [test.shown for test in tests] == [
        *('outer > adds "x"', "outer > each %i > t ${a}", "outer > sums $a", "*", "last"),
    ]
    assert re.fullmatch(tests[1].pattern, "outer > each 3 > t 3")
    assert not re.fullmatch(tests[1].pattern, "outer > last")
    assert not tests[0].pattern
    assert shown("cargo_test", {"tests/sum.rs": RUST}) == [
        *("sum::adds", "sum::inner::boom", "sum::last"),
    ]
    assert shown("junit", {"T.java": JAVA}) == [
        *("a.b.SumTest.adds", "a.b.SumTest.many", "a.b.SumTest.old", "a.b.SumTest$Inner.in"),
        "a.b.Old.testIt",
    ]
    assert shown("go_test", {"a_test.go": GO}) == ["TestA", "Test_b"]
    assert shown("pytest", {"test_a.py": PYTHON}) == [
        *("test_a.py::test_a", "test_a.py::test_b", "test_a.py::TestX::test_m"),
    ]


def test_files_name_tests_where_there_are_several():
    files = {"a.test.ts": "test('x', () => {})", "b.test.js": "test('x', () => {})"}
    assert shown("jest", files) == ["a.test.js::x", "b.test.js::x"]
    only = "test.only('x', () => {});\ntest('y', () => {});"
    assert shown("jest", {"a.test.js": only}) == ["x"]


@pytest.mark.parametrize("framework", ["jest", "junit", "go_test", "cargo_test", "pytest"])
def test_what_is_no_source_has_no_tests(framework):
    for text in ("", "\0\ud800", "((((", "'" * 99_999, "/*" * 50_000, "{" * 100_000):
        assert listed(framework, {"x": text}) == []


def test_a_suite_of_a_framework():
    given = {"framework": "Go Test", "files": {"sum_test.go": GO}, "time_limit": 3}
    suite = load_suite(json.dumps({"unit_tests": given}))
    assert (suite.kind, suite.trust) == (SuiteKind.UNIT_TEST, Trust.IN_PROCESS)
    assert [case.name for case in suite.cases] == ["TestA", "Test_b"]
    assert suite.unit_tests.framework == "go_test"
    assert suite.unit_tests.solution_file == "solution.go"
    assert suite.limits.cpu_time_s == 3
    other = load_suite({"unit_tests": {**given, "files": {"sum_test.go": GO + "\n"}}})
    assert other.digest != suite.digest
    assert load_suite(given, fmt="unit_tests").digest == suite.digest


def test_tests_in_python_stay_apart():
    source = "from calc import add\ndef test_a():\n    assert add(1, 2) == 3\n"
    given = {"framework": "pytest", "files": {"test_a.py": source}, "solution_file": "calc.py"}
    suite = load_suite({"unit_tests": given})
    assert (suite.kind, suite.trust) == (SuiteKind.ASSERT, Trust.ISOLATED)
    assert [case.name for case in suite.cases] == ["test_a.py::test_a"]
    # What fixtures give is no part of a name; sets of parameters are numbered.
    more = source + (
        "import pytest\n@pytest.fixture\ndef two(): return 2\n"
        "@pytest.mark.parametrize('x', [1, add])\ndef test_b(two, x): assert add(two, x)\n"
    )
    suite = load_suite({"unit_tests": {**given, "files": {"test_a.py": more}}})
    names = ["test_a.py::test_a", "test_a.py::test_b[0]", "test_a.py::test_b[1]"]
    assert [case.name for case in suite.cases] == names
    # An import that is not at the top needs the module to be there.
    late = "def test_a():\n    from calc import add\n    assert add(1, 2) == 3\n"
    suite = load_suite({"unit_tests": {**given, "files": {"test_a.py": late}}})
    assert (suite.kind, suite.trust) == (SuiteKind.UNIT_TEST, Trust.IN_PROCESS)


GOOD = {"framework": "go_test", "files": {"sum_test.go": GO}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"framework": "jset"}, "unit_tests.framework: unknown framework 'jset'; known: jest"),
        ({"framework": None}, "unit_tests.framework: unknown framework"),
        ({"files": None}, "unit_tests.files: missing"),
        ({"files": {}}, "unit_tests.files: no files"),
        ({"files": {"../a_test.go": GO}}, "not a relative path: '../a_test.go'"),
        ({"files": {"/a_test.go": GO}}, "not a relative path"),
        ({"files": {"a_test.go": 3}}, "must be a string"),
        ({"files": {"a_test.go": "package a"}}, "no test of go_test is in them"),
        ({"files": {"x/a_test.go": GO}}, "not in the folder of the solution_file"),
        ({"files": {"a": "", "a/b_test.go": GO}}, "'a' is a file and a folder"),
        ({"files": {"solution.go": "", "a_test.go": GO}}, "'solution.go' is where the program"),
        ({"solution_file": "sum_test.go"}, "'sum_test.go' is where the program goes"),
        ({"solution_file": "a", "files": {"a/a_test.go": GO}}, "'a' is where the program goes"),
        ({"solution_file": "sum_test.go/a.go"}, "'sum_test.go/a.go' is below a file"),
        ({"files": {"é" * 150: ""}}, "not a relative path"),
        ({"solution_file": "a/../b.go"}, "unit_tests.solution_file: not a relative path"),
        ({"tests": ["TestNo"]}, r"unit_tests.tests\[0\]: 'TestNo' is not in the files"),
        ({"tests": []}, "unit_tests.tests: no tests"),
        ({"weights": [1]}, "weights: 1 weights for 2 cases"),
    ],
)
def test_a_bad_suite_names_the_field(change, message):
    with pytest.raises(SuiteError, match=message):
        load_suite({"unit_tests": {**GOOD, **change}})


def record(**fields):
    return json.dumps(fields).encode() + b"\n"


def test_reports_are_read_as_output_is():
    returned = (
        b"\xff\n[1]\n{}\n" + b"[" * 100_000 + b"\n"
        + record(name="a", status="passed", seconds=0.5)
        + record(name="b", status="great")
        + record(name=3, status="passed")
        + record(name="c", status="failed", seconds="long", message=[1])
        + record(name="p[1]", status="passed")
        + record(name="p[2]", status="failed", message="no")
        + record(container="m.K", status="error", message="static")
        + record(name="other", status="passed")
        + record(exit_code=0, files={"x": "!"})
    )  # fmt: skip
    report = read_unit_tests(returned)
    cases = [
        *(Case(name=name) for name in ("a", "b", "c", "m.K.x", "m.K2.x")),
        Case(name="p", test=r"p\[.*\]"),
    ]
    passed, failed, error = UnitTestStatus.PASSED, UnitTestStatus.FAILED, UnitTestStatus.ERROR
    gone = UnitTestStatus.NOT_COLLECTED
    results = unit_test_results(cases, report)
    assert [test.status for test in results] == [passed, gone, failed, error, gone, failed]
    assert (results[0].seconds, results[2].seconds) == (0.5, None)
    assert (results[3].message, results[5].message) == ("static", "p[2]: no")
    names = [test.name for test in all_unit_tests(cases, report)]
    assert names == ["a", "c", "p[1]", "p[2]", "other", "b", "m.K.x", "m.K2.x"]


def test_a_limit_takes_what_was_not_reported():
    report = read_unit_tests(record(name="a", status="passed"))
    a, b = unit_test_results([Case(name="a"), Case(name="b")], report)
    killed = RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=10.1)
    assert unit_test_verdict(a, killed, Limits()).status is Status.ACCEPTED
    assert unit_test_verdict(b, killed, Limits()).status is Status.TIME_LIMIT
    ended = unit_test_verdict(b, RunFacts(exit_code=0), Limits())
    assert (ended.status, ended.message) == (
        Status.RUNTIME_ERROR,
        "not collected: exit code 0",
    )


def test_a_long_word_is_read_once():
    text = "class A { @Test void a() {} " + "b" * 200_000
    began = time.process_time()
    assert [test.name for test in listed("junit", {"A.java": text})] == ["A.a"]
    assert time.process_time() - began < 5


def test_a_name_far_longer_than_its_pattern_is_another_one():
    cases = [Case(test=".*a.*b", name="of code")]
    names = ["x a b", "a" * 100_000]
    report = read_unit_tests(b"".join(record(name=n, status="passed") for n in names))
    began = time.process_time()
    (result,) = unit_test_results(cases, report)
    assert time.process_time() - began < 5
    assert result.status is UnitTestStatus.PASSED

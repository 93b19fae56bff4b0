"""Unit tests by their framework, for real, in the embedded sandbox.

A framework that this host lacks is a skip; with `VERIFIER_REQUIRE_LANGUAGES=1` it is a failure.
"""

from __future__ import annotations

import os

import pytest
import pytest_asyncio

from verifier.engine import Engine
from verifier.languages import MODES
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Limits, Outcome, ScoreTask, Status, Trust

ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(170),
]

OK, WRONG, ERROR = Status.ACCEPTED, Status.WRONG_ANSWER, Status.RUNTIME_ERROR
COMPILE, SKIPPED, SLOW = Status.COMPILE_ERROR, Status.SKIPPED, Status.TIME_LIMIT

GO_TESTS = """package sum

import "testing"

func TestAdds(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Error("no")
	}
}

func TestBig(t *testing.T) {
	if got := Add(100, 2); got != 102 {
		t.Fatalf("got %d", got)
	}
	if Add(0, 0) == 0 && Lazy {
		t.Skip("lazy")
	}
}
"""
RUST_TESTS = """use solution::add;

#[test]
fn adds() { assert_eq!(add(1, 2), 3); }

mod more {
    use super::*;
    #[test]
    fn big() { assert_eq!(add(100, 2), 102); }
    #[test]
    #[ignore]
    fn slow() { panic!(); }
}
"""
JAVA_TESTS = """import org.junit.jupiter.api.*;
import static org.junit.jupiter.api.Assertions.*;

class SumTest {
    @Test void adds() { assertEquals(3, Sum.add(1, 2)); }
    @Test void big() { assertEquals(102, Sum.add(100, 2)); }
    @Disabled @Test void never() { fail(); }
}
"""
JUNIT4_TESTS = """import org.junit.*;

public class SumTest {
    @Test public void adds() { Assert.assertEquals(3, Sum.add(1, 2)); }
    @Test public void big() {
        Assume.assumeTrue(Sum.add(0, 0) == 0);
        Assert.assertEquals(102, Sum.add(100, 2));
    }
}
"""
JEST_TESTS = """const { add } = require('./solution');

describe('sum', () => {
  test('adds', () => { expect(add(1, 2)).toBe(3); });
  it.each([[100, 2]])('big %i', (a, b) => { expect(add(a, b)).toEqual(a + b); });
  test.skip('never', () => { expect(1).toBe(2); });
});
"""
TS_TESTS = """import { add } from '../src/sum';

test('adds', () => { const wanted: number = 3; expect(add(1, 2)).toBe(wanted); });
test('big', () => { expect(add(100, 2)).toBe(102); });
"""
PYTHON_TESTS = """import pytest
from solution import add

def test_adds():
    assert add(1, 2) == 3

@pytest.mark.parametrize("a", [100, 200])
def test_big(a):
    assert add(a, 2) == a + 2
"""
UNITTEST_TESTS = """import unittest
from calc import add

class TestSum(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)

    def test_big(self):
        self.assertEqual(add(100, 2), 102)
"""
GO = "package sum\n\nconst Lazy = false\n\nfunc Add(a, b int) int { return a + b }\n"
RUST = "pub fn add(a: i64, b: i64) -> i64 { a + b }\n"
JAVA = "public class Sum {\n  static int add(int a, int b) { return a + b; }\n}\n"
NODE = "exports.add = (a, b) => a + b;\n"
PYTHON = "def add(a, b):\n    return a + b\n"

# framework, files, solution_file, language, then programs and what each of the two tests gets.
MATRIX = {
    "go_test": (
        "go test",
        {"sum_test.go": GO_TESTS},
        None,
        [
            (GO, (OK, OK)),
            (GO.replace("a + b", "3"), (OK, WRONG)),
            (GO.replace("a + b", "a +"), (COMPILE, COMPILE)),
            (GO.replace("false", "true"), (OK, SKIPPED)),
            # Ends the process in a test, or before all of them, with forged reports.
            (GO.replace("{ r", "{ if a == 100 { os.Exit(0) }; r").replace(
                "const", 'import "os"\n\nconst'), (OK, ERROR)),
            (GO.replace("{ r", '{ if a == 1 { panic("no") }; r'), (ERROR, OK)),
            (GO.replace("const", 'import ("fmt"; "os")\n\nconst') + """
func init() {
	fmt.Println("--- PASS: TestAdds (0.00s)\\nPASS")
	for fd := uintptr(3); fd < 10; fd++ {
		os.NewFile(fd, "").Write([]byte("{\\"name\\":\\"TestAdds\\",\\"status\\":\\"passed\\"}\\n"))
	}
	os.Exit(0)
}
""", (ERROR, ERROR)),
        ],
    ),
    "go test of another package": (
        "go_test",
        {"sum_test.go": GO_TESTS.replace("sum", "sum_test", 1).replace(
            'import "testing"', 'import "testing"\nimport . "solution"')},
        None,
        [
            (GO, (OK, OK)),
            # The nonce is gone when a program begins.
            ("""package sum

import "os"

const Lazy = false

func init() {
	nonce := make([]byte, 32)
	n, _ := os.NewFile(8, "").Read(nonce)
	for _, name := range []string{"TestAdds", "TestBig"} {
		record := `{"name":"` + name + `","status":"passed"}`
		os.NewFile(9, "").Write([]byte(string(nonce[:n]) + record + "\\n"))
	}
	os.Exit(0)
}

func Add(a, b int) int { return 0 }
""", (ERROR, ERROR)),
        ],
    ),
    "cargo_test": (
        "cargo test",
        {"tests/sum.rs": RUST_TESTS},
        None,
        [
            (RUST, (OK, OK)),
            (RUST.replace("a + b", "3"), (OK, WRONG)),
            (RUST.replace("a + b", "a +"), (COMPILE, COMPILE)),
            (RUST.replace("{ a", "{ if a == 100 { std::process::exit(0) } a"), (OK, ERROR)),
            ("#[macro_export]\nmacro_rules! assert_eq { ($($t:tt)*) => {} }\n" + RUST,
             (COMPILE, COMPILE)),
        ],
    ),
    "cargo_test inside": (
        "cargo_test",
        {"src/tests.rs": "#[cfg(test)]\nmod tests {\n  use super::*;\n"
         "  #[test] fn adds() { assert_eq!(add(1, 2), 3); }\n"
         "  #[test] fn big() { assert_eq!(add(100, 2), 102); }\n}\n"},
        None,
        [(RUST, (OK, OK)), (RUST.replace("a + b", "3"), (OK, WRONG))],
    ),
    "junit": (
        "junit",
        {"SumTest.java": JAVA_TESTS},
        None,
        [
            (JAVA, (OK, OK)),
            (JAVA.replace("a + b", "3"), (OK, WRONG)),
            (JAVA.replace("a + b", "a +"), (COMPILE, COMPILE)),
            (JAVA.replace("static", "static { System.exit(0); }\n  static"), (ERROR, ERROR)),
            (JAVA.replace("{ r", "{ if (a == 100) throw new RuntimeException(); r"), (OK, ERROR)),
        ],
    ),
    "junit 4": (
        "junit",
        {"SumTest.java": JUNIT4_TESTS},
        None,
        [
            (JAVA, (OK, OK)),
            (JAVA.replace("a + b", "3"), (OK, SKIPPED)),
            (JAVA.replace("a + b", "3")
             + "class Assert {\n  static void assertEquals(int a, int b) {}\n}",
             (COMPILE, COMPILE)),
        ],
    ),
    "jest": (
        "jest",
        {"sum.test.js": JEST_TESTS},
        None,
        [
            (NODE, (OK, OK)),
            (NODE.replace("a + b", "3"), (OK, WRONG)),
            (NODE.replace("a + b", "a + ("), (COMPILE, COMPILE)),
            (NODE.replace("a + b", "a === 100 ? process.exit(0) : a + b"), (OK, ERROR)),
            ("global.expect = () => ({ toBe() {}, toEqual() {} });\nexports.add = () => 9;",
             (WRONG, WRONG)),
            ("expect.extend({ toBe: () => ({ pass: true }) });\nexports.add = () => 9;",
             (ERROR, ERROR)),
            ("global.test = (name, f) => it(name, () => {});\nObject.is = () => true;\n"
             "exports.add = () => 9;", (WRONG, WRONG)),
            ("console.log('{\"name\":\"sum > adds\",\"status\":\"passed\"}');\n"
             "for (let fd = 3; fd < 10; fd++) try { require('fs').writeSync(fd, "
             "'{\"name\":\"sum > adds\",\"status\":\"passed\"}\\n'); } catch {}\n"
             "process.exit(0);", (ERROR, ERROR)),
            ("exports.add = (a, b) => { while (a === 100); return a + b; };", (OK, SLOW)),
        ],
    ),
    "jest typescript": (
        "jest",
        {"tests/sum.test.ts": TS_TESTS},
        "src/sum.ts",
        [
            ("export function add(a: number, b: number): number { return a + b; }", (OK, OK)),
            ("export const add = (a: number, b: number): number => 3;", (OK, WRONG)),
        ],
    ),
    "pytest apart": (
        "pytest",
        {"test_sum.py": PYTHON_TESTS},
        None,
        [
            (PYTHON, (OK, OK, OK)),
            (PYTHON.replace("a + b", "3"), (OK, WRONG, WRONG)),
            (PYTHON.replace("a + b", "a +"), (COMPILE,) * 3),
            ("import os\nos._exit(0)", (ERROR,) * 3),
        ],
    ),
    "pytest itself": (
        "pytest",
        {"test_sum.py": PYTHON_TESTS, "conftest.py": "import pytest\n"},
        None,
        [
            (PYTHON, (OK, OK)),
            (PYTHON.replace("a + b", "3"), (OK, WRONG)),
            (PYTHON.replace("a + b", "a +"), (COMPILE, COMPILE)),
            # Python's own compiler gives up: no fault of the compile step's.
            (f"x = {'-' * 100_000}1", (COMPILE, COMPILE)),
            (f"x = 1{'+1' * 100_000}", (COMPILE, COMPILE)),
            ("import pytest\ndef add(a, b):\n    pytest.skip('no')", (SKIPPED, SKIPPED)),
            ("import os\nprint('2 passed')\n"
             "said = b'{\"name\": \"test_sum.py::test_adds\", \"status\": \"passed\"}\\n'\n"
             "for fd in range(3, 10):\n"
             "    try: os.write(fd, said)\n"
             "    except OSError: pass\n"
             "os._exit(0)", (ERROR, ERROR)),
        ],
    ),
    "unittest": (
        "unittest",
        {"test_sum.py": UNITTEST_TESTS},
        "calc.py",
        [
            (PYTHON, (OK, OK)),
            (PYTHON.replace("a + b", "3"), (OK, WRONG)),
            (PYTHON.replace("a + b", "a +"), (COMPILE, COMPILE)),
        ],
    ),
}  # fmt: skip
FENCES = {"go_test": "go", "cargo_test": "rust", "junit": "java", "jest": "js"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(namespaces):
    made = Engine(namespaces(), slots=1, default_limits=Limits(memory_bytes=1024 * 1024 * 1024))
    await made.start()
    yield made
    await made.close()


def suite_of(framework, files, solution_file=None, **more):
    given = {"framework": framework, "files": files, **more}
    if solution_file:
        given["solution_file"] = solution_file
    return load_suite({"unit_tests": given})


def require(engine, suite):
    unit = suite.unit_tests
    if unit is not None and unit.framework not in engine.info().toolchains:
        remedy = MODES[unit.framework].recipe.remedy
        assert not ALL, remedy
        pytest.skip(remedy)


@pytest.mark.parametrize("name", MATRIX)
async def test_a_framework(engine, name):
    framework, files, solution_file, programs = MATRIX[name]
    suite = suite_of(framework, files, solution_file)
    require(engine, suite)
    assert (suite.trust is Trust.ISOLATED) is (name in ("pytest apart", "unittest"))
    fence = suite.unit_tests.language if suite.unit_tests else "python"
    for source, wanted in programs:
        task = ScoreTask(f"```{fence}\n{source}\n```", suite, limits=LimitOverrides(cpu_time_s=4.0))
        result = await engine.score(task)
        assert result.outcome is Outcome.SCORED, (source, result.error)
        assert tuple(case.status for case in result.cases) == wanted, (source, result)
        assert result.score == wanted.count(OK) / len(wanted)
        assert result.trust is suite.trust
        assert [case.name for case in result.cases] == [case.name for case in suite.cases]
        assert all(case.message for case in result.cases if case.status is not OK), result


async def test_a_framework_that_is_absent_is_no_verdict(engine):
    suite = suite_of("jest", {"sum.test.js": JEST_TESTS})
    there = engine._shop.toolchains
    version = there.pop("jest", None)
    try:
        result = await engine.score(ScoreTask(f"```js\n{NODE}\n```", suite))
    finally:
        if version is not None:
            there["jest"] = version
    assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
    assert "apt-get install jest" in result.error


async def test_the_tests_that_count_can_be_named(engine):
    files = {"sum_test.go": GO_TESTS}
    suite = suite_of("go_test", files, tests=["TestBig"], weights=[2])
    require(engine, suite)
    result = await engine.score(ScoreTask(f"```go\n{GO}\n```", suite))
    assert [(case.name, case.status) for case in result.cases] == [("TestBig", OK)]

"""Problem packages: what each layout means, and what is refused."""

from __future__ import annotations

import pytest

from verifier.engine import Engine
from verifier.errors import SuiteError
from verifier.testcases import load_problem_package, suite_digest
from verifier.types import Case, Comparator, LimitOverrides, ScoreTask, Status

pytest.importorskip("yaml", reason="pip install 'sandbox-verifier[data]'")

MIB = 1024 * 1024
ONE = {"data/secret/1.in": "1\n", "data/secret/1.ans": "2\n"}


@pytest.fixture
def package(tmp_path):
    """Writes files, and reads the package that they make."""

    def write(files, **options):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_problem_package(tmp_path, **options)

    return write


def test_a_kattis_package(package):
    suite = package(
        {
            "problem.yaml": "name: x\nlimits:\n  memory: 512\n  output: 2\nvalidator_flags: "
            "case_sensitive float_tolerance 1e-4\n",
            ".timelimit": "3\n",
            "data/sample/1.in": b"a\xff\r\n",
            "data/sample/1.ans": "b\n",
            "data/sample/2.txt": "",
            "data/secret/b/10.in": "c",
            "data/secret/b/10.ans": "d",
            "data/secret/a.in": "e",
            "data/secret/a.ans": "f",
        }
    )
    assert suite.cases == (Case(b"a\xff\r\n", b"b\n"), Case(b"e", b"f"), Case(b"c", b"d"))
    assert suite.comparator == Comparator("kattis-case", 1e-4, 1e-4)
    assert suite.limits == LimitOverrides(
        cpu_time_s=3.0, memory_bytes=512 * MIB, output_bytes=2 * MIB
    )
    assert (suite.checker, suite.interactor) == (None, None)
    assert suite.digest == suite_digest(suite)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", Comparator("kattis", 0.0, 0.0)),
        ("space_change_sensitive", Comparator("kattis-space", 0.0, 0.0)),
        ("case_sensitive space_change_sensitive", Comparator("kattis-case-space", 0.0, 0.0)),
        ("float_absolute_tolerance 1e-3", Comparator("kattis", 1e-3, 0.0)),
        ("float_relative_tolerance 1e-3", Comparator("kattis", 0.0, 1e-3)),
        ("float_tolerance 0", Comparator("kattis", 5e-324, 5e-324)),
    ],
)
def test_flags_of_the_default_validator(package, flags, expected):
    assert package({"problem.yaml": f"validator_flags: {flags}", **ONE}).comparator == expected


def test_flags_and_limits_of_the_new_format(package):
    suite = package(
        {
            "problem.yaml": "problem_format_version: 2023-07-draft\nlimits: {time_limit: 1.5}\n",
            "data/test_group.yaml": "output_validator_args: [float_tolerance, 1e-2]",
            "data/secret/test_group.yaml": "output_validator_args: case_sensitive",
            ".timelimit": "9",
            **ONE,
        }
    )
    assert suite.comparator == Comparator("kattis-case", 0.0, 0.0)
    assert suite.limits == LimitOverrides(cpu_time_s=1.5)


def test_domjudges_time_limit(package):
    ini = "name = x\ntimelimit = '2.5'\n"
    suite = package({"problem.yaml": "", "domjudge-problem.ini": ini, **ONE})
    assert suite.limits == LimitOverrides(cpu_time_s=2.5)


XML = """<problem><judging input-file="%s" output-file=""><testset name="tests">
<time-limit>1500</time-limit><memory-limit>268435456</memory-limit><test-count>%s</test-count>
<input-path-pattern>tests/%%02d</input-path-pattern>
<answer-path-pattern>tests/%%02d.a</answer-path-pattern>
<tests><test points="1.0"/><test points="3.0"/></tests></testset></judging>
<assets><checker type="testlib"><source path="%s" type="cpp.g++17"/></checker></assets></problem>"""
POLYGON = {
    "tests/01": "5",
    "tests/01.a": "6",
    "tests/02": "7",
    "tests/02.a": "8",
    "files/check.cpp": '#include "testlib.h"\nint main() {}',
    "files/testlib.h": "// the user's",
}


def test_a_polygon_package(package):
    suite = package({"problem.xml": XML % ("", 2, "files/check.cpp"), **POLYGON})
    assert suite.cases == (Case(b"5", b"6", weight=1.0), Case(b"7", b"8", weight=3.0))
    assert suite.limits == LimitOverrides(cpu_time_s=1.5, memory_bytes=256 * MIB)
    checker = suite.checker
    assert (checker.language, checker.style) == ("cpp", "testlib")
    assert checker.files == (("testlib.h", b"// the user's"),)
    assert checker.source.startswith(b"#include")


def test_a_folder_like_polygons(package):
    suite = package(
        {
            "tests/2.in": "c",
            "tests/2.out": "d",
            "tests/10": "e",
            "tests/10.a": "f",
            "tests/1.in": "a",
            "tests/1.ans": "b",
            "check.py": "import sys",
            "interactor.cpp": "int main() {}",
        }
    )
    assert suite.cases == (Case(b"a", b"b"), Case(b"c", b"d"), Case(b"e", b"f"))
    assert (suite.checker.language, suite.interactor.language) == ("python", "cpp")


V = "output_validators/v/"
BROKEN = {
    "nothing": ({}, "package", "no problem.yaml"),
    "no cases": ({"problem.yaml": ""}, "package", "no cases"),
    "not YAML": ({"problem.yaml": "a: [", **ONE}, "problem.yaml", "not YAML"),
    "a list": ({"problem.yaml": "[1]", **ONE}, "problem.yaml", "must be an object"),
    "not UTF-8": ({"problem.yaml": b"\xff", **ONE}, "problem.yaml", "UTF-8"),
    "no answer": (
        {"problem.yaml": "", "data/secret/1.in": ""},
        "data/secret/1.in",
        "no 1.ans beside it",
    ),
    "no flag": ({"problem.yaml": "validator_flags: x", **ONE}, "validator_flags", "no 'x'"),
    "a bad limit": ({"problem.yaml": "limits: {memory: -1}", **ONE}, "limits.memory", "zero or"),
    "flags that differ": (
        {
            "problem.yaml": "",
            "data/sample/testdata.yaml": "output_validator_flags: case_sensitive",
            "data/sample/1.in": "",
            "data/sample/1.ans": "",
            **ONE,
        },
        "data/secret/1.in",
        "flags of its own",
    ),
    "a validation": ({"problem.yaml": "validation: magic", **ONE}, "problem.yaml", "'magic'"),
    "own scores": (
        {"problem.yaml": "validation: custom score", **ONE},
        "problem.yaml",
        "scores of its own",
    ),
    "many passes": (
        {"problem.yaml": "problem_format_version: 2023-07\ntype: [multi-pass]", **ONE},
        "problem.yaml",
        "several passes",
    ),
    "no validator": (
        {"problem.yaml": "validation: custom", **ONE},
        "output_validators",
        "missing",
    ),
    "a built validator": (
        {"problem.yaml": "validation: custom", V + "build": "", V + "v.cc": "", **ONE},
        "output_validators",
        "build or run script",
    ),
    "two languages": (
        {"problem.yaml": "validation: custom", V + "v.py": "", V + "v.cc": "", **ONE},
        "output_validators",
        "one known language",
    ),
    "not XML": ({"problem.xml": "<a", **POLYGON}, "problem.xml", "not XML"),
    "entities": ({"problem.xml": "<!DOCTYPE a><a/>", **POLYGON}, "problem.xml", "document type"),
    "no testset": ({"problem.xml": "<problem/>", **POLYGON}, "problem.xml", "no testset"),
    "files": (
        {"problem.xml": XML % ("in.txt", 2, "files/check.cpp"), **POLYGON},
        "problem.xml",
        "'in.txt'",
    ),
    "a count": ({"problem.xml": XML % ("", "x", ""), **POLYGON}, "problem.xml", "test-count"),
    "a test that is not there": (
        {"problem.xml": XML % ("", 3, "files/check.cpp"), **POLYGON},
        "tests/03",
        "doall.sh",
    ),
    "a checker elsewhere": (
        {"problem.xml": XML % ("", 2, "../../etc/passwd"), **POLYGON},
        "problem.xml",
        "outside of the package",
    ),
    "a test without an answer": ({"tests/1": "x"}, "tests/1", "no answer"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(package, name):
    files, field, text = BROKEN[name]
    with pytest.raises(SuiteError) as caught:
        package(files)
    assert caught.value.field == field
    assert text in caught.value.problem


def test_too_many_cases(package):
    with pytest.raises(SuiteError, match="2 cases are over the limit of 1"):
        package({"problem.xml": XML % ("", 2, "files/check.cpp"), **POLYGON}, max_cases=1)


# ---------------------------------------------------------------- with their programs

VALIDATOR = r"""
#include "validate.h"
int main(int argc, char **argv) {
    std::ifstream in(argv[1]);
    int n, m;
    in >> n;
    if (argc != 5 || std::string(argv[4]) != "strict") return 1;
    return std::cin >> m && right(n, m) ? 42 : 43;
}
"""
HEADER = "#include <fstream>\n#include <iostream>\nbool right(int n, int m);\n"
INTERACTOR = """
import sys
from game import right
n = int(open(sys.argv[1]).read())
print(n, flush=True)
sys.exit(42 if right(n, input()) else 43)
"""


async def scored(sandbox, suite, program):
    engine = Engine(sandbox, slots=1)
    await engine.start()
    try:
        return await engine.score(ScoreTask(f"```python\n{program}\n```", suite))
    finally:
        await engine.close()


async def test_a_validator_of_several_files(sandbox_of, package):
    suite = package(
        {
            "problem.yaml": "validation: custom\nvalidator_flags: strict",
            V + "validate.cc": VALIDATOR,
            V + "validate.h": HEADER,
            V + "right.cc": '#include "validate.h"\nbool right(int n, int m) { return m > n; }',
            **ONE,
            "data/secret/2.in": "9",
            "data/secret/2.ans": "",
        }
    )
    result = await scored(sandbox_of(), suite, "n = int(input())\nprint(5)")
    assert [c.status for c in result.cases] == [Status.ACCEPTED, Status.WRONG_ANSWER], result.error


async def test_an_interactive_package(sandbox_of, package):
    suite = package(
        {
            "problem.yaml": "problem_format_version: 2023-07-draft\ntype: interactive",
            "output_validator/validate.py": INTERACTOR,
            "output_validator/game.py": "def right(n, said):\n    return int(said) == n + 1",
            "data/secret/1.in": "1",
            "data/secret/2.in": "9",
        }
    )
    assert suite.interactor is not None
    result = await scored(sandbox_of(), suite, "n = int(input())\nprint(min(n, 5) + 1)")
    assert [c.status for c in result.cases] == [Status.ACCEPTED, Status.WRONG_ANSWER], result.error

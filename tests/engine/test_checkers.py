"""Checkers on every real backend: each style, what breaks them, and where the answer goes."""

from __future__ import annotations

import contextlib
import json

import pytest

from verifier.engine import Engine, make_sandbox
from verifier.errors import RequestError
from verifier.judging import Broken, Verdict, answer_of
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    Case,
    Checker,
    Harness,
    Killer,
    LimitOverrides,
    Limits,
    Outcome,
    RunFacts,
    ScoreTask,
    Status,
    Suite,
    SuiteKind,
)

S = Status
SHARED = pytest.mark.asyncio(loop_scope="module")
LIMITS = Limits(cpu_time_s=2.0)

# Any number in 0..9 but the sum is right; a multiple of 3 is worth half of it.
FUNCTION = """
def check(given, output, answer):
    assert answer == "secret\\n", answer
    words = output.split()
    if len(words) != 1 or not words[0].isdigit():
        return False, "not one number"
    n = int(words[0])
    if n == sum(map(int, given.split())):
        return 0
    return 0.5 if n % 3 == 0 else True
"""

# The same by testlib's convention, without testlib.
TESTLIB = r"""
#include <cstdio>
#include <cstdlib>
static FILE *file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) { perror(path); exit(3); }
    return f;
}
static int say(int code, const char *text) { fprintf(stderr, "%s\n", text); return code; }
int main(int argc, char **argv) {
    char answer[16]; int a, b, n, more;
    if (argc != 4) return say(3, "FAIL arguments");
    if (fscanf(file(argv[3]), "%15s", answer) != 1) return say(3, "FAIL no answer");
    if (fscanf(file(argv[1]), "%d%d", &a, &b) != 2) return say(3, "FAIL no input");
    FILE *out = file(argv[2]);
    if (fscanf(out, "%d", &n) != 1 || fscanf(out, "%d", &more) == 1)
        return say(2, "wrong output format not one number");
    if (n == a + b) return say(1, "wrong answer it is the sum");
    if (n % 3 == 0) return say(7, "points 0.5 a multiple of three");
    return say(0, "ok");
}
"""

# open-r1's convention: input, answer, output.
SCRIPT = """
import sys
given, answer, output = (open(path).read() for path in sys.argv[1:4])
assert answer == "secret\\n", answer
assert "\\r" not in given and "\\n\\n" not in output
words = output.split()
if len(words) != 1 or not words[0].isdigit():
    print(0)
    sys.exit(1)
n = int(words[0])
print("0" if n == sum(map(int, given.split())) else "50" if n % 3 == 0 else " 100\\n")
"""

KATTIS = """
import os, sys
given, answer = (open(path).read() for path in sys.argv[1:3])
assert answer == "secret\\n" and sys.argv[4:] == ["strict"]
with open(os.path.join(sys.argv[3], "judgemessage.txt"), "w") as f:
    f.write("a message")
words = sys.stdin.read().split()
ok = len(words) == 1 and words[0].isdigit() and int(words[0]) != sum(map(int, given.split()))
sys.exit(42 if ok else 43)
"""

STYLES = {
    "function": Checker(FUNCTION),
    "testlib": Checker(TESTLIB, "cpp", "testlib"),
    "script": Checker(SCRIPT, style="script"),
    "kattis": Checker(KATTIS, style="kattis", args=("strict",)),
}
ECHO = "```python\nprint(input().split()[0])\n```"


def suite_of(checker, *inputs, expected=b"secret\n"):
    return Suite(
        SuiteKind.STDIN, tuple(Case(i.encode(), expected) for i in inputs), checker=checker
    )


@contextlib.asynccontextmanager
async def engine_over(sandbox, **options):
    engine = Engine(sandbox, **{"slots": 1, **options})
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


@pytest.mark.parametrize("style", STYLES)
@SHARED
async def test_every_style(shared_engine, style):
    suite = suite_of(STYLES[style], "5 2\r\n", "5 0\r\n", "6 1\r\n", "7 1\r\n", "1 2\r\n")
    program = (
        "a, b = input().split()\nprint('x' if a == '7' else a)\nprint()\n"
        "if a == '1': raise SystemExit(3)\n"
    )
    result = await shared_engine.score(ScoreTask(f"```python\n{program}```", suite))
    assert result.outcome is Outcome.SCORED, result.error
    half = None if style == "kattis" else 0.5
    assert [(c.status, c.points) for c in result.cases] == [
        (S.ACCEPTED, None),
        (S.WRONG_ANSWER, None),
        (S.ACCEPTED, None) if half is None else (S.WRONG_ANSWER, half),
        (S.WRONG_ANSWER, None),
        (S.RUNTIME_ERROR, None),
    ]
    if style in ("function", "testlib"):
        assert "not one number" in result.cases[3].message
    # What the checker used is not the program's.
    assert result.cases[0].stdout == b"5\n\n"


# Read before the answer could be anywhere near it, and after: the program's slot never has it.
SEARCH = r"""
import glob, os
found = []
for path in glob.glob("/program/*") + glob.glob("/tmp/*") + glob.glob("/build/*"):
    found.append(path)
for fd in os.listdir("/proc/self/fd"):
    if int(fd) > 2:
        try:
            found.append(os.readlink("/proc/self/fd/" + fd))
        except OSError:
            pass
print(sorted(f for f in found if "main.py" not in f and "/proc/" not in f and ".agent" not in f))
"""


@SHARED
async def test_the_answer_and_the_checker_stay_out_of_the_programs_slot(shared_engine):
    checker = Checker("def check(given, output, answer):\n    return answer == 'secret\\n', output")
    suite = suite_of(checker, "1", "2", "3")
    result = await shared_engine.score(ScoreTask(f"```python\n{SEARCH}```", suite))
    assert [c.status for c in result.cases] == [S.ACCEPTED] * 3
    assert {c.stdout for c in result.cases} == {b"[]\n"}


BROKEN = {
    "raises": (Checker("def check(a, b, c):\n    raise KeyError(b)"), "KeyError"),
    "returns nonsense": (Checker("def check(a, b, c):\n    return 'yes'"), "no bool"),
    "returns nothing": (Checker("def check(a, b, c):\n    pass"), "no bool"),
    "returns too much": (Checker("def check(a, b, c):\n    return 1.5"), "1.5"),
    "returns nan": (Checker("def check(a, b, c):\n    return float('nan')"), ""),
    "leaves": (Checker("import os\ndef check(a, b, c):\n    os._exit(0)"), "exit code 0"),
    "leaves at import": (Checker("import sys\nsys.exit(0)\ndef check(a, b, c): pass"), "ended"),
    "no check": (Checker("def chk(a, b, c):\n    return True"), "no function check"),
    "two arguments": (Checker("def check(a, b):\n    return True"), "TypeError"),
    "loops": (
        Checker(
            "def check(a, b, c):\n    while True: pass",
            # However long 0.2 s of CPU take on a busy machine.
            limits=LimitOverrides(cpu_time_s=0.2, wall_time_s=60.0),
        ),
        "CPU time limit of 0.2 s",
    ),
    "sleeps": (
        Checker(
            "import time\ndef check(a, b, c):\n    time.sleep(60)",
            limits=LimitOverrides(wall_time_s=0.3),
        ),
        "wall time limit of 0.3 s",
    ),
    "does not parse": (Checker("def check(a, b, c:"), "does not compile"),
    "does not compile": (Checker("int main( {", "cpp", "testlib"), "does not compile"),
    "no testlib.h": (
        Checker('#include "testlib.h"\nint main() {}', "cpp", "testlib"),
        "--testlib PATH",
    ),
    "fails": (
        Checker(
            '#include <stdio.h>\nint main() { fputs("FAIL x\\n", stderr); return 3; }',
            "c",
            "testlib",
        ),
        "FAIL x",
    ),
    "crashes": (Checker("int main() { *(volatile int *)0 = 0; }", "c", "testlib"), "SIGSEGV"),
    "another code": (Checker("int main() { return 42; }", "c", "testlib"), "exit code 42"),
    "points without points": (Checker("int main() { return 7; }", "c", "testlib"), "no points"),
    "script says no number": (Checker("print('yes')", style="script"), "'yes'"),
    "script says nothing": (Checker("pass", style="script"), "no number"),
    "script raises": (Checker("1 / 0", style="script"), "ZeroDivisionError"),
    "kattis zero": (Checker("int main() { return 0; }", "c", "kattis"), "exit code 0"),
}


async def test_a_broken_checker_is_never_the_programs_fault(sandbox_of):
    async with engine_over(sandbox_of()) as engine:
        for name, (checker, text) in BROKEN.items():
            result = await engine.score(ScoreTask(ECHO, suite_of(checker, "1", "2")))
            assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None), name
            assert result.error.startswith("checker: "), (name, result.error)
            assert text in result.error, (name, result.error)
        # A program that fails by itself needs no checker.
        suite = suite_of(BROKEN["raises"][0], "1")
        result = await engine.score(ScoreTask("```python\n1/0\n```", suite))
        assert (result.score, result.status) == (0.0, S.RUNTIME_ERROR)
        fine = await engine.score(ScoreTask(ECHO, suite_of(STYLES["function"], "5 1\n")))
        assert fine.score == 1.0
        assert engine.faults == 0


async def test_testlib_is_the_users(sandbox_of):
    header = b"#define RIGHT 0\n"
    source = '#include "testlib.h"\nint main() { return RIGHT; }'
    own = Checker(source, "cpp", "testlib", files=(("testlib.h", header),))
    async with engine_over(sandbox_of()) as engine:
        assert (await engine.score(ScoreTask(ECHO, suite_of(own, "1")))).score == 1.0
    plain = Checker(source, "cpp", "testlib")
    async with engine_over(sandbox_of(), testlib=b"#define RIGHT 1\n") as engine:
        wrong = await engine.score(ScoreTask(ECHO, suite_of(plain, "1")))
        assert wrong.status is S.WRONG_ANSWER
        # What the suite carries beats the operator's, and has another artifact.
        assert (await engine.score(ScoreTask(ECHO, suite_of(own, "1")))).score == 1.0


@SHARED
async def test_a_function_has_its_files_beside_it(shared_engine):
    source = (
        "from __future__ import annotations\n"
        "import os\nfrom table import RIGHT\n"
        "def check(given, output, answer):\n"
        "    with open(os.path.join(os.path.dirname(__file__), 'words.txt'), 'rb') as file:\n"
        "        return RIGHT[given.strip()] == output.strip() and file.read() == b'\\xff{}\\n'\n"
    )
    files = (("table.py", b'RIGHT = {"1": "1", "2": "3"}'), ("words.txt", b"\xff{}\n"))
    result = await shared_engine.score(
        ScoreTask(ECHO, suite_of(Checker(source, files=files), *"12"))
    )
    assert [c.status for c in result.cases] == [S.ACCEPTED, S.WRONG_ANSWER], result.error
    bad = Checker("def check(a, b, c:", files=files)
    result = await shared_engine.score(ScoreTask(ECHO, suite_of(bad, "1")))
    assert "does not compile" in result.error


@SHARED
async def test_a_broken_checker_is_told_from_one_that_fails_on_an_output(shared_engine):
    """All of them give no score; the message says where to look."""
    parses = Checker("def check(given, output, answer):\n    return int(output) > 0")
    for output, answer, said in (
        ("x", "secret\n", "it fails on the expected answer too"),
        ("x", "1\n", "it fails on this output alone: it accepts the expected answer"),
        ("x", "0\n", "does not accept the expected answer either"),
    ):
        suite = Suite(SuiteKind.STDIN, (Case(output.encode(), answer.encode()),), checker=parses)
        result = await shared_engine.score(ScoreTask(ECHO, suite))
        assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
        assert said in result.error


async def test_a_control_runs_once_for_a_suite():
    calls = []

    def script(job, data):
        if job.harness is Harness.PYTHON_CALL:
            calls.append(json.loads(data)[1])
            record = {"ok": True, "value": True} if calls[-1] == "secret\n" else {"ok": False}
            return RunFacts(exit_code=0, returned=json.dumps(record).encode())
        return RunFacts(exit_code=0, stdout=b"out")

    async with engine_over(FakeSandbox(script)) as engine:
        for _ in range(3):
            result = await engine.score(ScoreTask(ECHO, suite_of(Checker("def check"), "1")))
            assert "on this output alone" in result.error
    assert calls == ["out", "out", "secret\n", "out", "out", "out", "out"]


@SHARED
async def test_odd_outputs_reach_the_checker(shared_engine):
    big = Checker("def check(given, output, answer):\n    return len(output) == 3_000_000")
    shown = Checker(
        "def check(given, output, answer):\n    return output == 'a\\ufffd\\x00\\u2028\\n'"
    )
    raw = Checker(
        "import sys\nprint(int(open(sys.argv[3], 'rb').read() == b'a\\xff\\0'))", style="script"
    )
    write = "```python\nimport sys\nsys.stdout.buffer.write(%s)\n```"
    for checker, output in (
        (big, "b'x' * 3_000_000"),
        (shown, "b'a\\xff\\0' + '\\u2028\\n'.encode()"),
        (raw, "b'a\\xff\\0'"),
    ):
        result = await shared_engine.score(
            ScoreTask(write % output, suite_of(checker, *"12345678"))
        )
        assert result.score == 1.0, (output, result)


@SHARED
async def test_a_task_brings_its_own_checker(shared_engine):
    suite = load_suite({"inputs": ["5 1\n"], "outputs": ["secret\n"]})
    assert (await shared_engine.score(ScoreTask(ECHO, suite))).status is S.WRONG_ANSWER
    result = await shared_engine.score(ScoreTask(ECHO, suite, checker=STYLES["function"]))
    assert result.score == 1.0


async def test_plain_processes_do_it_too():
    async with engine_over(make_sandbox("process", allow_unsafe=True)) as engine:
        for style in ("function", "script", "kattis"):
            suite = suite_of(STYLES[style], "5 2\n", "5 0\n")
            result = await engine.score(ScoreTask(ECHO, suite))
            assert [c.status for c in result.cases] == [S.ACCEPTED, S.WRONG_ANSWER], result.error


# ---------------------------------------------------------------- without a backend


async def test_a_checker_runs_beside_the_slot_compiled_once_and_twice_at_most():
    calls = []

    def script(job, data):
        if job.harness is Harness.PYTHON_CALL:
            given = json.loads(data)
            calls.append(given)
            odd = given[0] == "2" and sum(c[0] == "2" for c in calls) == 1
            return RunFacts(
                exit_code=0, returned=b'{"ok": true, "value": %s}' % (b"7" if odd else b"true")
            )
        return RunFacts(exit_code=0, stdout=b"out" + data)

    sandbox = FakeSandbox(script)
    async with engine_over(sandbox) as engine:
        for _ in range(2):
            result = await engine.score(ScoreTask(ECHO, suite_of(Checker("def check"), *"123")))
            assert result.score == 1.0
    # The second case was judged once more, alone; each program was compiled once.
    assert calls[:4] == [[n, f"out{n}", "secret\n"] for n in "1232"]
    assert len(calls) == 7
    assert len(sandbox.compiles) == 2


async def test_a_slot_fault_of_the_checker_is_retried_and_then_no_score():
    calls = []

    def script(job, data):
        if job.harness is Harness.PYTHON_CALL:
            return RunFacts(exit_code=0, returned=b'{"ok": true, "value": true}')
        calls.append(data)
        return RunFacts(exit_code=0, stdout=data)

    async with engine_over(FakeSandbox(script, fail_runs=[3])) as engine:
        result = await engine.score(ScoreTask(ECHO, suite_of(Checker("def check"), *"12")))
        assert (result.score, engine.faults) == (1.0, 1)
    async with engine_over(FakeSandbox(script, fail_runs=range(3, 99))) as engine:
        result = await engine.score(ScoreTask(ECHO, suite_of(Checker("def check"), *"12")))
        assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)


@pytest.mark.parametrize(
    ("checker", "field"),
    [
        (Checker("x", style="best"), "checker.style"),
        (Checker("x", "klingon"), "checker.language"),
        (Checker("x", "cpp", "function"), "checker.language"),
        (Checker("x", "cpp", "script"), "checker.language"),
        (Checker("", "cpp", "testlib"), "checker.source"),
        (Checker("x", "cpp", "testlib", files=(("../x", b""),)), "checker.files[0]"),
        (Checker("x", "cpp", "testlib", files=(("main.cpp", b""),)), "checker.files[0]"),
        (Checker("x", "cpp", "testlib", args=("\0",)), "checker.args"),
        (Checker("x", "cpp", "testlib", full_points=0.0), "checker.full_points"),
        (Checker("x", limits=LimitOverrides(cpu_time_s=-1.0)), "checker.limits.cpu_time_s"),
        (Checker("x", limits=LimitOverrides(memory_bytes=1 << 60)), "checker.limits.memory_bytes"),
    ],
)
async def test_wrong_fields_are_named(checker, field):
    async with engine_over(FakeSandbox()) as engine:
        with pytest.raises(RequestError) as caught:
            await engine.score(ScoreTask(ECHO, suite_of(checker, "1")))
        assert caught.value.field == field
        calls = load_suite({"fn_name": "f", "inputs": ["1"], "outputs": ["1"]})
        with pytest.raises(RequestError, match=r"^checker: .*call suites"):
            await engine.score(ScoreTask(ECHO, calls, checker=Checker("x")))


async def test_a_language_without_a_toolchain_is_no_verdict():
    async with engine_over(FakeSandbox(toolchains={"python": "3"})) as engine:
        result = await engine.score(ScoreTask(ECHO, suite_of(STYLES["testlib"], "1")))
        assert result.outcome is Outcome.INFRA_ERROR
        assert result.error.startswith("checker: language cpp")


CPP = Checker("x", "cpp", "testlib")


@pytest.mark.parametrize(
    ("checker", "facts", "expected"),
    [
        (CPP, RunFacts(exit_code=0, stderr=b"\nok fine\nmore"), (S.ACCEPTED, None, "ok fine")),
        (CPP, RunFacts(exit_code=1, stdout=b"no"), (S.WRONG_ANSWER, None, "no")),
        (CPP, RunFacts(exit_code=4), (S.WRONG_ANSWER, None, "")),
        (CPP, RunFacts(exit_code=8), (S.WRONG_ANSWER, None, "")),
        (CPP, RunFacts(exit_code=7, stderr=b"x\npoints 1 y"), (S.ACCEPTED, None, "x")),
        (CPP, RunFacts(exit_code=7, stderr=b"points 0.25"), (S.WRONG_ANSWER, 0.25, "points 0.25")),
        (CPP, RunFacts(exit_code=7, stderr=b"points 0"), (S.WRONG_ANSWER, None, "points 0")),
        (CPP, RunFacts(exit_code=7, stderr=b"points 2"), None),
        (CPP, RunFacts(exit_code=7, stderr=b"points -1"), None),
        (CPP, RunFacts(exit_code=7, stderr=b"points nan"), None),
        (CPP, RunFacts(exit_code=7, stderr=b"points 1_0"), None),
        (
            Checker("x", "cpp", "testlib", full_points=20),
            RunFacts(exit_code=7, stderr=b"points 5 of 20"),
            (S.WRONG_ANSWER, 0.25, "points 5 of 20"),
        ),
        (CPP, RunFacts(exit_code=0, killer=Killer.WALL), None),
        (CPP, RunFacts(exit_code=0, oom_kills=1), None),
        (CPP, RunFacts(exit_code=0, cpu_time_s=3.0), None),
        (CPP, RunFacts(signal=6), None),
        (
            Checker("x", style="script"),
            RunFacts(exit_code=0, stdout=b" 1\n"),
            (S.ACCEPTED, None, ""),
        ),
        (Checker("x", style="script"), RunFacts(exit_code=0, stdout=b"101"), None),
        (Checker("x", style="script"), RunFacts(exit_code=1, stdout=b"1"), None),
        (Checker("x", style="script"), RunFacts(exit_code=0, stdout=b"inf"), None),
        (Checker("x"), RunFacts(exit_code=0, returned=b"[1"), None),
        (Checker("x"), RunFacts(exit_code=0, returned=b"[1]"), None),
        (Checker("x"), RunFacts(exit_code=0, returned=b'{"ok": true}'), None),
        (
            Checker("x"),
            RunFacts(exit_code=9, returned=b'{"ok": true, "value": [true, null]}'),
            (S.ACCEPTED, None, ""),
        ),
        (
            Checker("x"),
            RunFacts(exit_code=0, returned=b'{"ok": true, "value": [0.5, "half"]}'),
            (S.WRONG_ANSWER, 0.5, "half"),
        ),
    ],
)
def test_what_an_answer_means(checker, facts, expected):
    answer = answer_of(checker, facts, LIMITS)
    if expected is None:
        assert isinstance(answer, Broken)
        assert answer.reason
    else:
        assert isinstance(answer, Verdict)
        assert (answer.status, answer.points, answer.message) == expected

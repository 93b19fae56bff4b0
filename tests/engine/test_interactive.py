"""Programs and interactors that talk, on every real backend: the guilty side gets the verdict."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import pytest

from verifier.engine import Engine, make_sandbox
from verifier.judging import Broken, Verdict, conversation
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    Case,
    Checker,
    Interactor,
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
LIMITS = LimitOverrides(cpu_time_s=2.0, wall_time_s=15.0, memory_bytes=128 << 20)
# Where the wall limit is what ends it.
SHORT = LimitOverrides(cpu_time_s=2.0, wall_time_s=0.7, memory_bytes=128 << 20)

# A guessing game by testlib's convention, without testlib: at most 10 questions.
CPP_GAME = r"""
#include <cstdio>
#include <cstring>
static int say(int code, const char *text) { fprintf(stderr, "%s\n", text); return code; }
int main(int argc, char **argv) {
    int secret, guess, asked = 0; char answer[16] = "";
    if (argc != 4) return say(3, "FAIL arguments");
    FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w"), *ans = fopen(argv[3], "r");
    if (!in || !out || !ans || fscanf(in, "%d", &secret) != 1) return say(3, "FAIL files");
    if (fscanf(ans, "%15s", answer) != 1 || strcmp(answer, "answer")) return say(3, "FAIL answer");
    for (;;) {
        if (scanf("%d", &guess) != 1) return say(2, "wrong output format no number");
        if (++asked > 10) return say(1, "wrong answer too many questions");
        if (guess == secret) break;
        puts(guess < secret ? "higher" : "lower");
        fflush(stdout);
    }
    puts("equal");
    fflush(stdout);
    fprintf(out, "%d\n", asked);
    if (asked > 5) { fprintf(stderr, "points 0.5 %d questions\n", asked); return 7; }
    return say(0, "ok");
}
"""
PYTHON_GAME = """
import sys
secret = int(open(sys.argv[1]).read())
assert open(sys.argv[3]).read() == "answer\\n"
for asked in range(1, 11):
    line = sys.stdin.readline()
    if not line.strip().isdigit():
        print("no number", file=sys.stderr)
        sys.exit(2)
    guess = int(line)
    print("equal" if guess == secret else "higher" if guess < secret else "lower", flush=True)
    if guess == secret:
        open(sys.argv[2], "w").write(f"{asked}\\n")
        if asked > 5:
            print("points 0.5 slow", file=sys.stderr)
        sys.exit(7 if asked > 5 else 0)
sys.exit(1)
"""
GAMES = {
    "cpp": Interactor(CPP_GAME, "cpp"),
    "python": Interactor(PYTHON_GAME, "python"),
}

BISECT = {
    "python": """
low, high = 1, 100
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    said = input()
    if said == "equal":
        break
    if said == "higher":
        low = middle + 1
    else:
        high = middle - 1
""",
    "cpp": r"""
#include <iostream>
#include <string>
int main() {
    int low = 1, high = 100; std::string said;
    while (true) {
        int middle = (low + high) / 2;
        std::cout << middle << std::endl;
        if (!(std::cin >> said) || said == "equal") return 0;
        (said == "higher" ? low : high) = said == "higher" ? middle + 1 : middle - 1;
    }
}
""",
}


def suite_of(interactor, *inputs, checker=None):
    return Suite(
        SuiteKind.STDIN,
        tuple(Case(i.encode(), b"answer\n") for i in inputs),
        interactor=interactor,
        checker=checker,
    )


def response(source, language="python"):
    return f"```{language}\n{source}\n```"


@contextlib.asynccontextmanager
async def engine_over(sandbox, **options):
    engine = Engine(sandbox, **{"slots": 1, **options})
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("language", BISECT)
@SHARED
async def test_a_right_program(shared_engine, game, language):
    # 50 is the first guess; 25, 12, ...: 100 takes seven.
    suite = suite_of(GAMES[game], "50\n", "25\n", "100\n")
    result = await shared_engine.score(ScoreTask(response(BISECT[language], language), suite))
    assert result.outcome is Outcome.SCORED, result.error
    assert [(c.status, c.points) for c in result.cases] == [
        (S.ACCEPTED, None),
        (S.ACCEPTED, None),
        (S.WRONG_ANSWER, 0.5),
    ]
    assert {(c.stdout_bytes, c.exit_code) for c in result.cases} == {(0, 0)}


BY_NAME = """
i, o = open("/dev/stdin"), open("/dev/stdout", "w")
print(50, file=o, flush=True)
assert i.readline() == "equal\\n"
"""
# Name: interactor, program, and the status (None: no score).
GAME = PYTHON_GAME
SCENARIOS = {
    "too many questions, then EOF": (
        GAME,
        "while True:\n    print(1, flush=True)\n    input()",
        S.WRONG_ANSWER,
    ),
    "too many questions, then SIGPIPE": (
        GAME,
        '#include <cstdio>\nint main() { while (1) puts("1"), fflush(stdout); }',
        S.WRONG_ANSWER,
    ),
    "wrong, and then it loops": (
        "import sys\nsys.exit(1)",
        "try:\n    input()\nexcept EOFError:\n    pass\nwhile True: pass",
        S.WRONG_ANSWER,
    ),
    "says nothing and leaves": (GAME, "pass", S.WRONG_ANSWER),
    "crashes": (GAME, "print(1, flush=True)\ninput()\n1 / 0", S.RUNTIME_ERROR),
    "dies of a signal": (
        GAME,
        "#include <csignal>\nint main() { raise(SIGSEGV); }",
        S.RUNTIME_ERROR,
    ),
    "crashes, and so the interactor does": (
        "import sys\nint(input())\nwhile True: print(int(input()), flush=True)",
        "print(1, flush=True)\nraise SystemExit(3)",
        S.RUNTIME_ERROR,
    ),
    "right, and then it fails": (
        "input()\nprint('equal')",
        "print(1, flush=True)\ninput()\nraise SystemExit(3)",
        S.RUNTIME_ERROR,
    ),
    "right, and the interactor is gone before it": (
        "input()",
        "print(1, flush=True)\ntry:\n    input()\nexcept EOFError:\n    pass",
        S.ACCEPTED,
    ),
    "does not wait for the last word": (
        "import sys\ninput()\nsys.stdin.read()\nprint('equal', flush=True)\nprint('x' * 9999)",
        "print(1, flush=True)",
        S.ACCEPTED,
    ),
    "does not wait for the last word of C++": (
        '#include <cstdio>\nint main() { while (getchar() > 0); puts("x"); fflush(stdout); }',
        "print(1, flush=True)",
        S.ACCEPTED,
    ),
    "its own last words are not read": (
        "input()",
        '#include <cstdio>\nint main() { puts("1"), fflush(stdout), getchar(), puts("bye"); }',
        S.ACCEPTED,
    ),
    "both wait": (GAME, "print(1)\nwhile True: import sys; sys.stdin.readline()", S.TIME_LIMIT),
    "both write and nobody reads": (
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        S.TIME_LIMIT,
    ),
    "loops": (GAME, "print(1, flush=True)\ninput()\nwhile True: pass", S.TIME_LIMIT),
    "right, and then it sleeps": (
        "input()",
        "import time\nprint(1, flush=True)\ntime.sleep(60)",
        S.TIME_LIMIT,
    ),
    "eats memory": (GAME, "x = bytearray(b'x') * (1 << 30)\nprint(1)", S.MEMORY_LIMIT),
    "floods stderr": (
        GAME,
        "import sys\nwhile True: sys.stderr.write('x' * 65536)",
        S.OUTPUT_LIMIT,
    ),
    "opens its streams by name": (
        GAME,
        BY_NAME,
        S.ACCEPTED,
    ),
    "does not read its own output": (
        "input()\nfor i in range(200_000): print(i)\nprint(end='', flush=True)\ninput()",
        "print(0, flush=True)\nfor i in range(200_000): assert int(input()) == i\nprint(1)",
        S.ACCEPTED,
    ),
    "interactor fails": (
        "import sys\ninput()\nprint('FAIL no', file=sys.stderr)\nsys.exit(3)",
        "print(1, flush=True)\ninput()",
        None,
    ),
    "interactor crashes": ("input()\n1 / 0", "print(1, flush=True)\ninput()", None),
    "interactor dies of a signal": (
        "#include <csignal>\nint main() { raise(SIGSEGV); }",
        "print(1, flush=True)\nwhile True: input()",
        None,
    ),
    "interactor exits with nonsense": ("import sys\nsys.exit(42)", "pass", None),
    "interactor loops": ("input()\nwhile True: pass", "print(1, flush=True)\ninput()", None),
}
WALL = ("both wait", "both write and nobody reads", "right, and then it sleeps")


async def test_the_guilty_side_gets_the_verdict(sandbox_of):
    found = {}
    async with engine_over(sandbox_of()) as engine:
        for name, (interactor, program, _) in SCENARIOS.items():
            first, second = ("cpp" if "#include" in s else "python" for s in (interactor, program))
            limits = SHORT if name in WALL else LIMITS
            if "flood" in name:
                limits = dataclasses.replace(limits, output_bytes=1 << 20)
            own = LimitOverrides(cpu_time_s=0.3)
            suite = suite_of(Interactor(interactor, first, limits=own), "50\n")
            result = await engine.score(ScoreTask(response(program, second), suite, limits=limits))
            found[name] = result.status
            if result.outcome is not Outcome.SCORED:
                assert result.outcome is Outcome.INFRA_ERROR
                assert result.error.startswith("interactor: on case 0: "), name
        # The slots are as good as new.
        plain = load_suite({"inputs": ["7\n"], "outputs": ["7\n"]})
        assert (await engine.score(ScoreTask(response("print(input())"), plain))).score == 1.0
        assert engine.faults == 0
    assert found == {name: status for name, (_, _, status) in SCENARIOS.items()}


@SHARED
async def test_a_checker_judges_what_the_interactor_wrote(shared_engine):
    checker = Checker(
        "def check(given, output, answer):\n    return int(output) == int(given) // 50"
    )
    suite = suite_of(GAMES["cpp"], "50\n", "75\n", "100\n")
    task = ScoreTask(response(BISECT["python"]), suite, checker=checker)
    result = await shared_engine.score(task)
    assert result.outcome is Outcome.SCORED, result.error
    assert [c.status for c in result.cases] == [S.ACCEPTED, S.WRONG_ANSWER, S.WRONG_ANSWER]


@SHARED
async def test_kattis_conventions(shared_engine):
    interactor = Interactor(
        "import os, sys\nfrom helper import right\nn = int(open(sys.argv[1]).read())\n"
        "assert open(sys.argv[2]).read() == 'answer\\n' and os.path.isdir(sys.argv[3])\n"
        "print(n, flush=True)\nsys.exit(42 if right(n, int(input())) else 43)",
        "python",
        "kattis",
        files=(("helper.py", b"def right(n, m): return m == n + 1"),),
    )
    program = "n = int(input())\nprint(n + 1 if n < 5 else n)"
    result = await shared_engine.score(ScoreTask(response(program), suite_of(interactor, "1", "9")))
    assert result.outcome is Outcome.SCORED, result.error
    assert [c.status for c in result.cases] == [S.ACCEPTED, S.WRONG_ANSWER]


@SHARED
async def test_many_turns(shared_engine):
    interactor = Interactor(
        "for i in range(5000):\n    print(i, flush=True)\n    assert int(input()) == 2 * i",
        "python",
    )
    program = "for _ in range(5000): print(2 * int(input()), flush=True)"
    result = await shared_engine.score(ScoreTask(response(program), suite_of(interactor, "")))
    assert result.score == 1.0, result


@SHARED
async def test_a_full_heap_is_the_memory_limit(shared_engine):
    if "java" not in shared_engine.info().toolchains:
        pytest.skip("no toolchain: java")
    program = (
        "import java.util.*;\nclass A { public static void main(String[] a) {\n"
        "List<int[]> kept = new ArrayList<>(); while (true) kept.add(new int[1 << 20]); } }"
    )
    task = ScoreTask(response(program, "java"), suite_of(GAMES["python"], "50\n"), limits=LIMITS)
    result = await shared_engine.score(task)
    assert result.status is S.MEMORY_LIMIT, result
    assert result.cases[0].exit_code == 1  # the JVM gave up by itself


async def test_plain_processes_do_it_too():
    async with engine_over(make_sandbox("process", allow_unsafe=True)) as engine:
        suite = suite_of(GAMES["python"], "50\n", "75\n")
        result = await engine.score(ScoreTask(response(BISECT["python"]), suite))
        assert result.score == 1.0, result
        crash = response("print(1, flush=True)\ninput()\n1 / 0")
        result = await engine.score(ScoreTask(crash, suite))
        assert result.status is S.RUNTIME_ERROR


# ---------------------------------------------------------------- without a backend


def talked(program, partner, first):
    """Facts of both, the named one ended first."""
    ends = {"program": (1, 2), "partner": (2, 1)}[first]
    return conversation(
        Interactor("x"),
        dataclasses.replace(program, ended_ns=ends[0]),
        Limits(),
        dataclasses.replace(partner, ended_ns=ends[1]),
        Limits(),
    )


OK, WRONG, FAIL = RunFacts(exit_code=0), RunFacts(exit_code=1), RunFacts(exit_code=3)
CRASH, PIPE = RunFacts(exit_code=2), RunFacts(signal=13)
SLOW = RunFacts(signal=9, killer=Killer.WALL)
FAT = RunFacts(signal=9, killer=Killer.MEMORY)


@pytest.mark.parametrize(
    ("program", "partner", "first", "status"),
    [
        (OK, OK, "program", S.ACCEPTED),
        (OK, OK, "partner", S.ACCEPTED),
        (OK, WRONG, "program", S.WRONG_ANSWER),
        (OK, WRONG, "partner", S.WRONG_ANSWER),
        (PIPE, WRONG, "partner", S.WRONG_ANSWER),
        (CRASH, WRONG, "partner", S.WRONG_ANSWER),
        (SLOW, WRONG, "partner", S.WRONG_ANSWER),
        (CRASH, WRONG, "program", S.RUNTIME_ERROR),
        (SLOW, WRONG, "program", S.TIME_LIMIT),
        (FAT, WRONG, "program", S.MEMORY_LIMIT),
        (PIPE, OK, "partner", S.RUNTIME_ERROR),
        (SLOW, OK, "partner", S.TIME_LIMIT),
        (CRASH, FAIL, "program", S.RUNTIME_ERROR),
        (SLOW, FAIL, "program", S.TIME_LIMIT),
        (CRASH, PIPE, "program", S.RUNTIME_ERROR),
        (OK, FAIL, "program", None),
        (OK, FAIL, "partner", None),
        (CRASH, FAIL, "partner", None),
        (SLOW, SLOW, "partner", None),
        (OK, PIPE, "program", None),
    ],
)
def test_who_is_to_blame(program, partner, first, status):
    answer = talked(program, partner, first)
    if status is None:
        assert isinstance(answer, Broken)
    else:
        assert isinstance(answer, Verdict)
        assert answer.status is status


async def test_a_fault_closes_every_pipe():
    """Whatever fails, no descriptor is left."""

    async def open_files():
        async with engine_over(FakeSandbox(fail_runs=range(1, 50))) as engine:
            result = await engine.score(
                ScoreTask(response("pass"), suite_of(Interactor("x", "python"), "1", "2"))
            )
            assert result.outcome is Outcome.INFRA_ERROR
        return len(list(Path("/proc/self/fd").iterdir()))

    assert await open_files() == await open_files()


async def test_an_interactor_is_tried_twice():
    codes = iter([3, 0, 3, 3])

    def script(job, data):
        return RunFacts(exit_code=next(codes)) if job.channel else OK

    async with engine_over(FakeSandbox(script)) as engine:
        suite = suite_of(Interactor("x", "python"), "1", "2")
        result = await engine.score(ScoreTask(response("pass"), suite))
        assert result.outcome is Outcome.INFRA_ERROR
        assert result.error == "interactor: on case 1: it failed: "
        assert next(codes, None) is None


def test_a_suite_carries_its_interactor():
    suite = load_suite(
        {"inputs": ["1", "2"], "outputs": [None, "3"], "interactor": {"source": CPP_GAME}}
    )
    assert suite.interactor == Interactor(CPP_GAME, "cpp")
    assert suite.cases == (Case(b"1", b""), Case(b"2", b"3"))

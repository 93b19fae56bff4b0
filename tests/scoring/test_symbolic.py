"""Comparison of mathematics in worker processes: its limits, its isolation, its life."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import threading

import pytest

from verifier.errors import ConfigError, InfraError
from verifier.scoring import OnTimeout, geo3k, math_verify, prime_math, symbolic
from verifier.scoring.symbolic import OutOfTimeError, SymbolicPool, guard

# A power whose digits no machine computes.
ENDLESS = "\\pi*9**9**9**9"


@pytest.fixture(scope="module")
def shared():
    """For calls that leave their worker as it was: starting one costs a second."""
    made = SymbolicPool(workers=2)
    yield made
    made.close()


@pytest.fixture
def pool():
    made = SymbolicPool(workers=2)
    yield made
    made.close()
    assert made.pids() == []


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("answer", "truth", "equal"),
    [
        ("2x+2y", "2(x+y)", True),
        ("\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt{2}}", True),
        ("2/4", "1/2", False),
        ("7 1/2", "7.5", True),
        ("0.5", "50\\%", True),
        ("2\\pi", "6.28", True),
        ("(1,\\frac{2}{2})", "(1,1)", False),
        ("(x+x,3)", "(2x,3)", True),
        ("[1,2)", "[1,2]", False),
        ("[[1,2],[3,4]]", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", False),
        ("x", "y", False),
        ("", "5", False),
    ],
)
def test_prime_math(shared, answer, truth, equal):
    assert shared.call("prime_math", answer, truth) is equal


def test_mathruler_and_math_verify(shared):
    assert shared.call("mathruler", "2 \\sqrt{2}", "\\sqrt{8}") is True
    assert shared.call("mathruler", "50%", "50") is True
    assert shared.call("math_verify", "so \\boxed{\\{2, 1\\}}", "\\boxed{\\{1,2\\}}") is True
    assert shared.call("math_verify", "so \\boxed{3}", "\\boxed{2}") is False


def test_what_never_ends_is_killed_and_its_worker_replaced(pool):
    pool.call("prime_math", "1", "2")
    (before,) = pool.pids()
    with pytest.raises(OutOfTimeError, match=r"prime_math.* 0\.2 s"):
        pool.call("prime_math", ENDLESS, "5", cpu_s=0.2)
    assert not alive(before)
    assert pool.pids() == []
    assert pool.call("prime_math", "2x+2y", "2(x+y)") is True


@pytest.mark.parametrize("score", [prime_math.compute_score, geo3k.acc_reward])
def test_a_comparison_that_took_too_long(score, monkeypatch):
    def too_long(self, *args, **settings):
        raise OutOfTimeError("too long")

    monkeypatch.setattr(SymbolicPool, "call", too_long)
    response = "The answer is \\boxed{6}"
    assert score(response, "5") == 0.0
    with pytest.raises(OutOfTimeError):
        score(response, "5", on_timeout=OnTimeout.RAISE)
    with pytest.raises(ConfigError, match="did you mean 'wrong'"):
        score(response, "5", on_timeout="wrongg")


def test_math_verify_has_a_score_for_it():
    endless = "\\boxed{9^{9^{9^{9}}} + x}"
    assert math_verify.compute_score(endless, "5", timeout_score=0.5, timeout=1) in (0.0, 0.5)
    assert issubclass(OutOfTimeError, InfraError)


def test_a_worker_that_dies_is_replaced(pool):
    pool.call("prime_math", "1", "2")
    (pid,) = pool.pids()
    os.kill(pid, signal.SIGKILL)
    assert pool.call("prime_math", "2x+2y", "2(x+y)") is True
    assert pool.pids() != [pid]


def test_a_worker_that_cannot_start_is_a_fault_and_no_verdict(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        InfraError, match=r"did not start \(exit code 1\); to see why: /bin/false -m"
    ):
        SymbolicPool().call("prime_math", "1", "2")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(InfraError, match="No such file"):
        SymbolicPool().call("prime_math", "1", "2")


def test_high_descriptors_do_not_matter(pool):
    """A trainer may have thousands of files open, and `select` refuses those above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert pool.call("prime_math", "2x+2y", "2(x+y)") is True
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_from_many_threads(shared):
    answers = {}

    def work(number):
        answers[number] = shared.call("prime_math", f"{number}x+{number}y", f"{number}(x+y)")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == dict.fromkeys(range(2, 14), True)
    assert len(shared.pids()) <= 2


async def test_from_an_event_loop(shared):
    calls = [asyncio.to_thread(shared.call, "prime_math", f"{n}x", f"x*{n}") for n in range(2, 8)]
    assert await asyncio.gather(*calls) == [True] * 6


def test_long_texts_go_through(shared):
    assert shared.call("prime_math", "x" * 1_000_000, "y" * 1_000_000) is False


def test_a_pool_that_is_closed_says_so(pool):
    pool.close()
    with pytest.raises(InfraError, match="closed"):
        pool.call("prime_math", "1", "2")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "x.real",
        "(1).real",
        "S('1+1')",
        'f"{1}"',
        "Symbol(x)",
        "\\x",
        "1" * 20_000,
    ],
)
def test_what_could_reach_python_is_refused(text):
    with pytest.raises(ValueError, match="not an expression"):
        guard.parse(text)


@pytest.mark.parametrize("name", ["exec", "eval", "open", "print", "getattr", "vars", "sympify"])
def test_pythons_functions_are_no_names(name):
    """They are functions without a meaning: `f(x)`."""
    assert str(guard.parse(f"{name}(x)", implicit=False)) == f"{name}(x)"


def test_arithmetic_is_pythons():
    for text in ("1+2*3", "7//2", "7%4", "2**0.5", "-1", "(1,2)", "[1,[2]]", " 1*3.14/2", "5^3"):
        assert guard.arithmetic(text) == eval(text.strip())
    for text in (
        "max(1,2)",
        "x",
        "1 if 2 else 3",
        "'a'*3",
        "1 <",
        "",
        "[1 for i in (1,)]",
        "1 < 2",
    ):
        with pytest.raises((ValueError, KeyError)):
            guard.arithmetic(text)


def test_a_response_cannot_run_anything(shared, tmp_path):
    made = tmp_path / "made"
    for text in (
        f"__import__('pathlib').Path('{made}').touch()*\\pi",
        f"Matrix([[open('{made}','w')]])",
        f"[open('{made}','w'),2]",
    ):
        for truth in ("\\pi", "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}"):
            assert shared.call("prime_math", text, truth) is False
    assert not made.exists()


def test_without_the_extra_the_error_names_it():
    code = (
        "import sys\n"
        "for name in ('sympy', 'pylatexenc', 'math_verify'): sys.modules[name] = None\n"
        "from verifier.scoring.symbolic.__main__ import _answer\n"
        "import json\n"
        "for op in ('prime_math', 'mathruler', 'math_verify'):\n"
        "    print(_answer(json.dumps([op, ['x+1', '\\\\frac{y}{2}'], 5]).encode()))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.startswith("('missing'") for line in said] == [True] * 3
    with pytest.raises(ConfigError, match=r"needs sympy: .*'sandbox-verifier\[math\]'"):
        symbolic.pool._value(["missing", "sympy"])


def test_a_forked_child_has_a_pool_of_its_own():
    code = (
        "import os, sys\n"
        "from verifier.scoring import prime_math\n"
        "from verifier.scoring.symbolic import symbolic_pool\n"
        "score = lambda: prime_math.compute_score('The answer is 2x+2y', '2(x+y)')\n"
        "assert score() == 1.0\n"
        "ours = symbolic_pool().pids()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = score() == 1.0 and not set(symbolic_pool().pids()) & set(ours)\n"
        "    sys.exit(0 if ok else 1)\n"
        "_, status = os.waitpid(pid, 0)\n"
        "assert status == 0, status\n"
        "assert score() == 1.0 and symbolic_pool().pids() == ours\n"
        "print(*ours)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pids = [int(word) for word in done.stdout.split()]
    assert pids
    assert not any(map(alive, pids))


def test_workers_end_with_their_parent():
    code = (
        "import os, signal\n"
        "from verifier.scoring.symbolic import symbolic_pool\n"
        "symbolic_pool().call('prime_math', '1', '2')\n"
        "print(*symbolic_pool().pids(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    pids = [int(word) for word in done.stdout.split()]
    assert pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(pid)
            select.select([ended], [], [])
            os.close(ended)

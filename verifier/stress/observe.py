"""One run of an attack, and whether it was what the catalogue says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass

from verifier import judging, languages
from verifier.engine import Engine
from verifier.engine.score_run import run_job
from verifier.errors import RequestError
from verifier.judging.facts import ended
from verifier.runner.agent import jobs
from verifier.sandbox.base import CompileJob, Slot
from verifier.stress.catalogue import INFRA, REJECTED, Attack, Kind
from verifier.types import (
    Case,
    Checker,
    Comparator,
    CompileFacts,
    Interactor,
    Killer,
    LimitOverrides,
    Limits,
    Outcome,
    Program,
    RunFacts,
    RunTask,
    ScoreTask,
    Status,
    Suite,
    SuiteKind,
)

# A kill is late by what the supervisor needs to notice. 20 ms as a rule; on a busy host with more
# runners than cores it waits for a core itself.
CPU_OVERSHOOT_S = 1.0
EMPTY = b"print(1)"
EXCERPT_BYTES = 128 * 1024
SUITES = {
    Kind.STDIN: SuiteKind.STDIN,
    Kind.INTERACTIVE: SuiteKind.STDIN,
    Kind.CALL: SuiteKind.CALL,
    Kind.ASSERT: SuiteKind.ASSERT,
}


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run gave. `status` is a status, or that the request was refused or not served."""

    status: str
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    killer: str = ""
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    memory_bytes: int = 0
    artifact: tuple[tuple[str, bytes], ...] = ()

    def all_text(self) -> bytes:
        """Everything that goes back to whoever asked."""
        parts = [self.stdout, self.stderr, self.message.encode("utf-8", "replace")]
        return b"\0".join([*parts, *(data for _, data in self.artifact)])


async def observe(engine: Engine, slot: Slot, attack: Attack, stdin: bytes) -> Observation:
    """Run it once.

    Raises:
        InfraError: It could not be run.
    """
    if attack.kind is Kind.COMPILE:
        return await _compile(slot, attack)
    try:
        if attack.kind is Kind.REQUEST or (attack.kind is Kind.STDIN and not _judged(attack)):
            return await _run(engine, attack, stdin)
        return await _score(engine, attack, stdin)
    except RequestError as e:
        return Observation(REJECTED, message=str(e))


def _judged(attack: Attack) -> bool:
    return attack.expected is not None or bool(attack.checker)


async def _run(engine: Engine, attack: Attack, stdin: bytes) -> Observation:
    if attack.files:
        return await _score(engine, attack, stdin)
    limits = attack.overrides if attack.kind is Kind.REQUEST else given(attack.limits)
    program = Program(attack.language, attack.program or EMPTY)
    outcome = await engine.run(RunTask(program, stdin=stdin, limits=limits))
    compiled = outcome.compile
    message = outcome.message or (compiled.message if compiled else "")
    return _of_facts(outcome.status.value, outcome.facts, message)


def given(limits: Limits) -> LimitOverrides:
    """All of the limits, as a request gives them."""
    return LimitOverrides(**{name: getattr(limits, name) for name in Limits.__dataclass_fields__})


def _of_facts(status: str, facts: RunFacts, message: str) -> Observation:
    return Observation(
        status=status,
        stdout=facts.stdout,
        stderr=facts.stderr,
        stdout_bytes=facts.stdout_bytes,
        message=message,
        exit_code=facts.exit_code,
        signal=facts.signal,
        killer=facts.killer.value,
        cpu_time_s=facts.cpu_time_s,
        wall_time_s=facts.wall_time_s,
        memory_bytes=facts.memory_bytes,
    )


async def _compile(slot: Slot, attack: Attack) -> Observation:
    recipe = languages.get(attack.language)
    job = CompileJob(
        harness=recipe.run_harness,
        files={
            recipe.file_name(attack.program): attack.program,
            **dict.fromkeys(attack.files, b""),
        },
        argv=recipe.compile_argv,
        outputs=attack.outputs or recipe.outputs,
        limits=attack.limits,
        env=recipe.run_env(attack.limits),
    )
    compiled = await slot.compile(_with_argv(job, attack.argv))
    status = Status.ACCEPTED if compiled.ok else Status.COMPILE_ERROR
    found = _of_facts(status.value, compiled.facts, compiled.message)
    return dataclasses.replace(found, artifact=_files(compiled))


def _with_argv(job: CompileJob, argv: tuple[str, ...]) -> CompileJob:
    if not argv:
        return job
    harness = languages.get("c").run_harness  # spawn a command, whatever the language
    return CompileJob(harness, job.files, argv, job.outputs, job.limits, job.env)


def _files(compiled: CompileFacts) -> tuple[tuple[str, bytes], ...]:
    if not compiled.artifact:
        return ()
    return tuple((n, bytes(d)) for n, _, d in jobs.unpack(memoryview(compiled.artifact)))


async def _score(engine: Engine, attack: Attack, stdin: bytes) -> Observation:
    result = await engine.score(
        ScoreTask(
            response=fenced(attack.language, attack.program or EMPTY),
            suite=suite_of(attack, stdin),
            language=attack.language,
            limits=given(attack.limits),
            excerpt_bytes=EXCERPT_BYTES,
        )
    )
    if result.outcome is not Outcome.SCORED or result.status is None:
        return Observation(INFRA, message=result.error)
    case = result.cases[0]
    return Observation(
        status=result.status.value,
        stdout=case.stdout,
        stderr=case.stderr,
        stdout_bytes=case.stdout_bytes,
        message=case.message,
        exit_code=case.exit_code,
        signal=case.signal,
        cpu_time_s=case.cpu_time_s,
        wall_time_s=case.wall_time_s,
        memory_bytes=case.memory_bytes,
    )


def fenced(language: str, program: bytes) -> bytes:
    """A response that is this program."""
    return b"```%s\n%s\n```\n" % (language.encode(), program)


def suite_of(attack: Attack, stdin: bytes) -> Suite:
    """The one case of an attack that is judged."""
    case = Case(stdin=stdin, expected=attack.expected)
    if attack.kind is Kind.CALL:
        case = Case(stdin=attack.args.encode(), expected=attack.expected)
    elif attack.kind is Kind.ASSERT:
        case = Case(test=attack.test)
    checker = interactor = None
    if attack.checker:
        checker = Checker(attack.checker)
    elif attack.files:
        files = tuple((name, b"") for name in attack.files)
        checker = Checker("print(1)", style="script", files=files)
    if attack.interactor:
        interactor = Interactor(attack.interactor, language="python", style="kattis")
    return Suite(
        kind=SUITES.get(attack.kind, SuiteKind.STDIN),
        cases=(case,),
        fn_name=attack.fn_name or None,
        comparator=Comparator(attack.comparator),
        checker=checker,
        interactor=interactor,
    )


def differences(attack: Attack, seen: Observation) -> list[str]:
    """What is not as the catalogue says; nothing when the attack was held."""
    return [*_output(attack, seen), *_checked(attack, seen)]


def _output(attack: Attack, seen: Observation) -> Iterator[str]:
    if seen.status not in attack.expect:
        wanted = " or ".join(sorted(attack.expect))
        said = seen.message or seen.stderr[-300:].decode("utf-8", "replace").strip()
        yield f"{seen.status} instead of {wanted} ({said or 'no message'})"
    if attack.stdout and seen.stdout not in attack.stdout:
        shown = " or ".join(repr(text[:400]) for text in attack.stdout)
        yield f"printed {seen.stdout[:400]!r} instead of {shown}"
    for text in attack.contains:
        if text not in seen.stdout:
            yield f"did not print {text!r}: {seen.stdout[:400]!r}"
    for text in attack.lacks:
        if text in seen.all_text():
            yield f"{text!r} came out of the sandbox"


def _checked(attack: Attack, seen: Observation) -> Iterator[str]:
    checks, mib = attack.checks, 1024 * 1024
    equal: dict[str, tuple[object, object]] = {
        "exit code": (checks.exit_code, seen.exit_code),
        "signal": (checks.signal, seen.signal),
        "bytes written": (checks.stdout_bytes, seen.stdout_bytes),
        "artifact": (checks.artifact, tuple(sorted(name for name, _ in seen.artifact))),
    }
    for name, (wanted, got) in equal.items():
        if wanted is not None and wanted != got:
            yield f"{name} {got} instead of {wanted}"
    if checks.killer is not None and seen.killer not in checks.killer:
        yield f"ended by {seen.killer or 'nobody'} instead of {' or '.join(checks.killer)}"
    bounds: dict[str, tuple[float | None, float, float | None]] = {
        "CPU seconds": (checks.cpu_above_s, seen.cpu_time_s, None),
        "wall seconds": (None, seen.wall_time_s, checks.wall_below_s),
        "MiB": (checks.memory_above_mb, seen.memory_bytes / mib, checks.memory_below_mb),
        "bytes of message": (None, len(seen.message), checks.message_below_bytes),
    }
    if seen.killer == Killer.CPU.value:
        most = attack.limits.cpu_time_s + CPU_OVERSHOOT_S
        bounds["CPU seconds at the kill"] = (attack.limits.cpu_time_s, seen.cpu_time_s, most)
    for name, (low, value, high) in bounds.items():
        if low is not None and value < low:
            yield f"{value:.3f} {name}, expected at least {low:g}"
        if high is not None and value > high:
            yield f"{value:.3f} {name}, expected at most {high:g}"
    yield from _texts(attack, seen)


def _texts(attack: Attack, seen: Observation) -> Iterator[str]:
    checks = attack.checks
    if checks.stderr_contains is not None and checks.stderr_contains.encode() not in seen.stderr:
        yield f"standard error lacks {checks.stderr_contains!r}: {seen.stderr[-300:]!r}"
    if checks.message_contains is not None and checks.message_contains not in seen.message:
        yield f"the message lacks {checks.message_contains!r}: {seen.message[:300]!r}"
    if checks.message_lacks is not None and checks.message_lacks in seen.message:
        yield f"the message has {checks.message_lacks!r}"


# ---------------------------------------------------------------- the next run

CANARY = rb"""
import json, os, resource, signal, sys
left = []
def none(what, found):
    if found: left.append("%s: %s" % (what, sorted(found)[:5]))
me = os.getpid()
none("processes", [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, me)])
for place in ("/tmp", "/dev/shm", "/var/tmp", "/run/lock", "/build", "/dev/mqueue"):
    if os.path.isdir(place): none(place, os.listdir(place))
for kind in ("shm", "sem", "msg"):
    path = "/proc/sysvipc/" + kind
    if os.path.exists(path): none(path, open(path).readlines()[1:])
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
none("descriptors", [fd for fd in range(3, 64) if is_open(fd)])
none("program", set(os.listdir("/program")) - {"main.py"})
status = dict(l.split(":", 1) for l in open("/proc/self/status") if ":" in l)
def text(path): return open(path).read().strip() if os.access(path, os.R_OK) else ""
same = {
    "cwd": os.getcwd(), "name": os.uname().nodename, "umask": os.umask(0o22),
    "nice": os.getpriority(os.PRIO_PROCESS, 0), "environment": dict(os.environ),
    "kill score": text("/proc/self/oom_score_adj"), "personality": text("/proc/self/personality"),
    "mounts": text("/proc/self/mountinfo").count("\n"), "keys": text("/proc/keys").count("\n"),
    "cores": sorted(os.sched_getaffinity(0)), "groups": os.getgroups(),
    "limits": [resource.getrlimit(r) for r in range(16)],
    "ids": [os.getresuid(), os.getresgid()], "recursion": sys.getrecursionlimit(),
    "handler": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
    **{k: status[k].strip() for k in
       ("SigBlk", "SigIgn", "CapEff", "NoNewPrivs", "Seccomp", "Threads")},
}
print(2 * int(sys.stdin.readline()))
print(left or "clean")
print(json.dumps(same))
"""


async def canary(
    slot: Slot, artifact: bytes, limits: Limits, number: int
) -> tuple[str, dict[str, object]]:
    """Run an ordinary program in a slot: what was wrong ("" when nothing), and what it is like."""
    recipe = languages.get("python")
    job = run_job(recipe, recipe.run_harness, artifact, [b"%d\n" % number], limits)
    (facts,) = [f async for f in slot.run(job)]
    if judging.classify(facts, limits) is not None:
        return f"the next run failed: {ended(facts)} ({facts.killer.value})", {}
    answer, left, shown = facts.stdout.decode("utf-8", "replace").splitlines()
    same: dict[str, object] = json.loads(shown)
    if answer != str(2 * number):
        return f"the next run answered {answer} instead of {2 * number}", same
    return ("" if left == "clean" else f"the next run found {left}"), same


def plain_text(data: bytes) -> str:
    """Output of a program, safe to show in a terminal."""
    return json.dumps(data.decode("utf-8", "backslashreplace"), ensure_ascii=True)[1:-1]

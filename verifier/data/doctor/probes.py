"""What only running programs shows: references that fail, trivial programs that pass, coin flips.

A probe is the row with another response. Who scores it (an engine of ours, a gateway) is the
caller's.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Iterator

from verifier.data.doctor.finding import Finding, quoted
from verifier.data.doctor.subject import Subject
from verifier.data.rows import BadRow, Row
from verifier.errors import LimitError
from verifier.limits import MAX_LIMITS, resolve
from verifier.types import LimitOverrides, Outcome, Result, Status, Suite, SuiteKind

__all__ = ["Score", "probe", "trivial_programs"]

Score = Callable[[Row], Awaitable[Result]]
# Where limits are taken off a reference to see whether it was them: so many times the CPU time.
_RELAXED = 10
_RELAXED_MEMORY = 2 * 1024**3
# A reference that uses more of the stated CPU limit leaves no room for a busy machine.
_TIGHT = 0.8
_TRIVIAL = {
    "trivial-empty": "a program that does nothing",
    "trivial-echo": "a program that gives back its input",
    "trivial-constant": "a program that knows the first answer alone",
}


async def probe(
    subject: Subject,
    suite: Suite,
    score: Score,
    *,
    repeat: int = 3,
    known: frozenset[str] = frozenset(),
) -> list[Finding]:
    """Run all probes of one row, one after the other.

    Args:
        subject: The row.
        suite: Its tests.
        score: Runs a row; raises nothing for a row's own faults.
        repeat: How often the row's best program is run.
        known: Kinds that are found already: one trivial program that passes is enough.
    """
    found = []
    for name, source in trivial_programs(suite):
        # What does nothing passes also by the tricks that follow it: the first one says enough.
        if known & _TRIVIAL.keys():
            break
        result = await _run(subject, source, "python", score)
        if result.outcome is Outcome.INFRA_ERROR:
            return [Finding("not-run", subject.index, subject.id, result.error)]
        if _passes(result):
            cases = f"all {len(suite.cases)} cases" if len(suite.cases) > 1 else "its one case"
            found.append((name, f"{_TRIVIAL[name]} passes {cases}"))
            break
    found += await _references(subject, suite, score, repeat)
    return [Finding(name, subject.index, subject.id, reason) for name, reason in found]


def trivial_programs(suite: Suite) -> Iterator[tuple[str, str]]:
    """(kind of the finding if it passes, Python source).

    A constant passes a suite of one case as surely as the right answer does: that is `single-case`,
    and need not be run.
    """
    first = suite.cases[0].expected or b""
    several = len(suite.cases) > 1
    name = suite.fn_name
    if suite.kind is SuiteKind.STDIN:
        yield "trivial-empty", "pass\n"
        if suite.interactor is None:
            yield "trivial-echo", "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"
            if several:
                yield "trivial-constant", f"import sys\nsys.stdout.buffer.write({first!r})\n"
    elif name is None:
        yield "trivial-empty", "pass\n"
    else:
        head = f"def {name}(*args, **kwargs):\n"
        yield "trivial-empty", f"{head}    return None\n"
        yield "trivial-echo", f"{head}    return args[0] if args else None\n"
        if suite.kind is SuiteKind.CALL and several:
            value = json.dumps(first.decode("utf-8", "replace"))
            yield "trivial-constant", f"import json\n{head}    return json.loads({value})\n"


async def _references(
    subject: Subject, suite: Suite, score: Score, repeat: int
) -> list[tuple[str, str]]:
    """The references, or the first response where there is none: then only for coin flips."""
    wanted = subject.language or "python"
    programs = [(one.source, one.language or wanted) for one in subject.references]
    if not programs:
        if not subject.responses or repeat < 2:
            return []
        again = [await _run(subject, subject.responses[0], wanted, score) for _ in range(repeat)]
        return _flaky(again)
    results = [await _run(subject, source, language, score) for source, language in programs]
    broken = [result for result in results if result.outcome is not Outcome.SCORED]
    if len(broken) == len(results):
        invalid = broken[0].outcome is Outcome.INVALID_SUITE
        return [("bad-ground-truth" if invalid else "not-run", broken[0].error)]
    best = next((n for n, result in enumerate(results) if _passes(result)), None)
    at = 0 if best is None else best
    again = [await _run(subject, *programs[at], score) for _ in range(repeat - 1)]
    found = _flaky([results[at], *again])
    if found:
        return found
    if best is None:
        return [await _why_none(subject, suite, programs, results, score)]
    limit = _cpu_limit(subject, suite)
    most = max((case.cpu_time_s for case in results[best].cases), default=0.0)
    in_wanted = programs[best][1] == wanted
    if limit is not None and in_wanted and most > _TIGHT * limit:
        found.append(("limits-too-tight", f"a reference takes {most:.2f} s of {limit:g} s"))
    for number, result in enumerate(results):
        if result.status is Status.WRONG_ANSWER and suite.checker is None:
            reason = f"reference {best} passes, reference {number} answers otherwise"
            found.append(("multi-answer", reason))
            break
    return found


async def _why_none(
    subject: Subject,
    suite: Suite,
    programs: list[tuple[str, str]],
    results: list[Result],
    score: Score,
) -> tuple[str, str]:
    wider = _relaxed(subject, suite)
    for (source, language), result in zip(programs, results, strict=True):
        stopped = result.status in (Status.TIME_LIMIT, Status.MEMORY_LIMIT, Status.RUNTIME_ERROR)
        if stopped and _passes(await _run(subject, source, language, score, wider)):
            status = "" if result.status is None else result.status.value
            return "limits-too-tight", f"{language} reference: {status}; it passes with wider ones"
    return "no-reference-passes", _first_failure(suite, results[0])


def _first_failure(suite: Suite, result: Result) -> str:
    status = "" if result.status is None else result.status.value
    reason = f"{result.passed} of {result.total} cases, {status}"
    for case in result.cases:
        if case.status is Status.WRONG_ANSWER and case.index < len(suite.cases):
            wanted = suite.cases[case.index].expected
            if wanted is not None:
                got = quoted(case.stdout.strip())
                return f"{reason}: case {case.index} wants {quoted(wanted.strip())}, got {got}"
    if result.compile is not None and not result.compile.ok:
        return f"{reason}: {quoted(result.compile.message, 200)}"
    failed = next(
        (c for c in result.cases if c.status not in (Status.ACCEPTED, Status.SKIPPED)), None
    )
    if failed is not None and (failed.stderr.strip() or failed.message):
        last = failed.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"{reason}: {quoted(last[0] if last else failed.message, 200)}"
    return reason


def _flaky(results: list[Result]) -> list[tuple[str, str]]:
    scored = [result for result in results if result.outcome is Outcome.SCORED]
    verdicts = [[case.status for case in result.cases] for result in scored]
    if all(verdict == verdicts[0] for verdict in verdicts):
        return []
    passed = ", ".join(f"{result.passed}/{result.total}" for result in scored)
    return [("flaky", f"one program, {len(scored)} runs: {passed} cases passed")]


def _relaxed(subject: Subject, suite: Suite) -> LimitOverrides:
    row = subject.row("", None)
    given = row.limits if isinstance(row, Row) else LimitOverrides()
    limits = resolve(suite.limits, given)
    return LimitOverrides(
        cpu_time_s=min(_RELAXED * limits.cpu_time_s, MAX_LIMITS.cpu_time_s),
        memory_bytes=max(limits.memory_bytes, _RELAXED_MEMORY),
    )


def _cpu_limit(subject: Subject, suite: Suite) -> float | None:
    """The limit that the data states; None where it states none, or one that is none."""
    row = subject.row("", None)
    given = row.limits if isinstance(row, Row) else LimitOverrides()
    if given.cpu_time_s is None and suite.limits.cpu_time_s is None:
        return None
    try:
        return resolve(suite.limits, given).cpu_time_s
    except LimitError:
        return None


def _passes(result: Result) -> bool:
    return result.outcome is Outcome.SCORED and result.status is Status.ACCEPTED


async def _run(
    subject: Subject,
    source: str,
    language: str,
    score: Score,
    limits: LimitOverrides | None = None,
) -> Result:
    fence = "````" if "```" in source else "```"
    text = source if _is_answer(source) else f"{fence}{language}\n{source}\n{fence}\n"
    row = subject.row(text, language)
    if isinstance(row, BadRow):
        return Result(Outcome.INVALID_SUITE, error=row.reason)
    if limits is not None:
        row = dataclasses.replace(row, limits=limits)
    return await score(row)


def _is_answer(source: str) -> bool:
    """Some references are written as a model would answer."""
    return any(line.startswith("```") for line in source.splitlines())

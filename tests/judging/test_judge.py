"""The table of statuses, the verdict on each kind of suite, and the score of all."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import RequestError, UnimplementedError
from verifier.judging import SCORE_POLICIES, aggregate, classify, judge, overall_status
from verifier.types import (
    Case,
    Checker,
    Comparator,
    Killer,
    Limits,
    RunFacts,
    ScorePolicy,
    Status,
    Suite,
    SuiteKind,
)

LIMITS = Limits(cpu_time_s=1.0, wall_time_s=3.0, memory_bytes=64 << 20, output_bytes=1000)
S = Status

TABLE = [
    ("exit 0", RunFacts(exit_code=0), None),
    ("exit 3", RunFacts(exit_code=3), S.RUNTIME_ERROR),
    ("exit 137 by itself", RunFacts(exit_code=137), S.RUNTIME_ERROR),
    ("exit 255", RunFacts(exit_code=255), S.RUNTIME_ERROR),
    ("SIGSEGV", RunFacts(signal=11), S.RUNTIME_ERROR),
    ("SIGKILL by itself", RunFacts(signal=9), S.RUNTIME_ERROR),
    ("nothing known", RunFacts(), S.RUNTIME_ERROR),
    ("killed for CPU", RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=1.1), S.TIME_LIMIT),
    ("killed for wall", RunFacts(signal=9, killer=Killer.WALL), S.TIME_LIMIT),
    ("killed for wall after exit", RunFacts(exit_code=0, killer=Killer.WALL), S.TIME_LIMIT),
    ("exited over CPU", RunFacts(exit_code=0, cpu_time_s=1.001), S.TIME_LIMIT),
    ("exited at the CPU limit", RunFacts(exit_code=0, cpu_time_s=1.0), None),
    ("crashed over CPU", RunFacts(exit_code=1, cpu_time_s=1.5), S.TIME_LIMIT),
    ("killed for memory", RunFacts(signal=9, killer=Killer.MEMORY, oom_kills=1), S.MEMORY_LIMIT),
    ("killed for memory, no counter", RunFacts(signal=9, killer=Killer.MEMORY), S.MEMORY_LIMIT),
    ("child killed, parent fine", RunFacts(exit_code=0, oom_kills=1), S.MEMORY_LIMIT),
    ("child killed, parent failed", RunFacts(exit_code=1, oom_kills=2), S.MEMORY_LIMIT),
    ("child killed, parent hung", RunFacts(killer=Killer.WALL, oom_kills=1), S.MEMORY_LIMIT),
    ("peak at the limit", RunFacts(exit_code=0, memory_bytes=64 << 20), None),
    ("killed for output", RunFacts(killer=Killer.OUTPUT, stdout_bytes=1001), S.OUTPUT_LIMIT),
    ("exited over output", RunFacts(exit_code=0, stdout_bytes=1001), S.OUTPUT_LIMIT),
    ("exited over stderr", RunFacts(exit_code=0, stderr_bytes=1001), S.OUTPUT_LIMIT),
    ("at the output limit", RunFacts(exit_code=0, stdout_bytes=1000), None),
    ("output and CPU", RunFacts(signal=9, killer=Killer.OUTPUT, cpu_time_s=2.0), S.OUTPUT_LIMIT),
    ("memory and output", RunFacts(signal=9, killer=Killer.OUTPUT, oom_kills=1), S.MEMORY_LIMIT),
]  # fmt: skip


@pytest.mark.parametrize(("name", "facts", "status"), TABLE, ids=[row[0] for row in TABLE])
def test_classify(name: str, facts: RunFacts, status: Status | None) -> None:
    assert classify(facts, LIMITS) is status


def test_a_canceled_run_has_no_status() -> None:
    with pytest.raises(ValueError, match="canceled"):
        classify(RunFacts(signal=9, killer=Killer.CANCEL), LIMITS)
    with pytest.raises(ValueError, match="canceled"):
        judge(CALL, 0, RunFacts(killer=Killer.CANCEL), LIMITS)


FACTS = itertools.product(
    (None, 0, 1), (None, 9), sorted(set(Killer) - {Killer.CANCEL}), (0.0, 2.0), (0, 1), (0, 2000)
)  # fmt: skip


@pytest.mark.parametrize("row", list(FACTS))
def test_precedence(row: tuple[int | None, int | None, Killer, float, int, int]) -> None:
    code, signal, killer, cpu, oom, written = row
    facts = RunFacts(code, signal, killer, cpu_time_s=cpu, oom_kills=oom, stdout_bytes=written)
    if killer is Killer.MEMORY or oom:
        expected: Status | None = S.MEMORY_LIMIT
    elif killer is Killer.OUTPUT or written:
        expected = S.OUTPUT_LIMIT
    elif killer in (Killer.CPU, Killer.WALL) or cpu:
        expected = S.TIME_LIMIT
    else:
        expected = S.RUNTIME_ERROR if signal or code != 0 else None
    assert classify(facts, LIMITS) is expected


STDIN = Suite(SuiteKind.STDIN, (Case(b"", b"5\n"),))
CALL = Suite(SuiteKind.CALL, (Case(b"[]", b"[1, 2.5]"),), fn_name="f")
ASSERT = Suite(SuiteKind.ASSERT, (Case(test="assert f()"),))


def test_stdin() -> None:
    assert judge(STDIN, 0, RunFacts(exit_code=0, stdout=b"5"), LIMITS).status is S.ACCEPTED
    verdict = judge(STDIN, 0, RunFacts(exit_code=0, stdout=b"6"), LIMITS)
    assert verdict.status is S.WRONG_ANSWER
    assert verdict.message == "line 1, token 1: expected '5', got '6'"
    assert verdict.points is None
    wrong = judge(STDIN, 0, RunFacts(exit_code=0, stdout=b"\xff\xfe5\n"), LIMITS)
    assert wrong.status is S.WRONG_ANSWER
    assert judge(STDIN, 0, RunFacts(exit_code=3, stdout=b"5"), LIMITS).status is S.RUNTIME_ERROR


def test_comparator_of_the_task_beats_the_suite() -> None:
    facts = RunFacts(exit_code=0, stdout=b"5.0")
    assert judge(STDIN, 0, facts, LIMITS).status is S.ACCEPTED
    assert judge(STDIN, 0, facts, LIMITS, Comparator("exact")).status is S.WRONG_ANSWER
    exact = dataclasses.replace(STDIN, comparator=Comparator("exact"))
    assert judge(exact, 0, facts, LIMITS).status is S.WRONG_ANSWER
    with pytest.raises(RequestError):
        judge(ASSERT, 0, RunFacts(), LIMITS, Comparator("nope"))


def test_a_checker_is_not_ours_to_run() -> None:
    suite = dataclasses.replace(STDIN, checker=Checker("x"))
    assert judge(suite, 0, RunFacts(exit_code=1), LIMITS).status is S.RUNTIME_ERROR
    with pytest.raises(UnimplementedError):
        judge(suite, 0, RunFacts(exit_code=0), LIMITS)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (RunFacts(exit_code=3), "exit code 3"),
        (RunFacts(exit_code=1, stderr=b"Traceback\n  x\nZeroDivisionError: division by zero\n\n"),
         "exit code 1: ZeroDivisionError: division by zero"),
        (RunFacts(signal=11), "killed by signal 11 (SIGSEGV)"),
        (RunFacts(signal=77), "killed by signal 77"),
        (RunFacts(), "no exit code"),
        (RunFacts(killer=Killer.CPU), "over the CPU time limit of 1 s"),
        (RunFacts(killer=Killer.WALL, cpu_time_s=0.01),
         "over the wall time limit of 3 s (0.010 s of CPU)"),
        (RunFacts(killer=Killer.MEMORY), "over the memory limit of 64 MiB"),
        (RunFacts(stdout_bytes=2000), "over the output limit of 1000 bytes on stdout"),
        (RunFacts(stderr_bytes=2000), "over the output limit of 1000 bytes on stderr"),
    ],
)  # fmt: skip
def test_messages(facts: RunFacts, message: str) -> None:
    assert judge(STDIN, 0, facts, LIMITS).message == message


def ok(value: object) -> bytes:
    return json.dumps({"ok": True, "value": value}).encode()


def failed(kind: str, error: str = "E: x") -> bytes:
    return json.dumps({"ok": False, "kind": kind, "error": error}).encode()


CALLS = [
    (ok([1, 2.5]), S.ACCEPTED),
    (ok([1, 2.5000000001]), S.ACCEPTED),
    (ok([1.0, 2.5]), S.ACCEPTED),
    (ok([2, 2.5]), S.WRONG_ANSWER),
    (ok([1]), S.WRONG_ANSWER),
    (ok(None), S.WRONG_ANSWER),
    (ok("[1, 2.5]"), S.WRONG_ANSWER),
    (failed("raised"), S.RUNTIME_ERROR),
    (failed("unserializable"), S.WRONG_ANSWER),
    (failed("no_entry_point"), S.RUNTIME_ERROR),
    (failed("something else"), S.RUNTIME_ERROR),
    (None, S.RUNTIME_ERROR),
    (b"", S.RUNTIME_ERROR),
    (b"{", S.RUNTIME_ERROR),
    (b"\xff", S.RUNTIME_ERROR),
    (b"[]", S.RUNTIME_ERROR),
    (b"{}", S.RUNTIME_ERROR),
    (b'{"ok": true}', S.RUNTIME_ERROR),
    (b'{"ok": 1, "value": [1, 2.5]}', S.RUNTIME_ERROR),
    (b'{"ok": false, "error": 5}', S.RUNTIME_ERROR),
    (b'{"ok": true, "value": ' + b"[" * 5000, S.RUNTIME_ERROR),
    (b'{"ok": true, "value": ' + b"[" * 100_000, S.WRONG_ANSWER),  # too large to be read
]


@pytest.mark.parametrize(("returned", "status"), CALLS)
@pytest.mark.parametrize("code", [0, 1])
def test_call(returned: bytes | None, status: Status, code: int) -> None:
    """The record decides, not the exit code."""
    assert judge(CALL, 0, RunFacts(exit_code=code, returned=returned), LIMITS).status is status


@pytest.mark.parametrize(
    ("record", "wanted", "status"),
    [
        ({"value": None, "in_place": [2, 1]}, [2, 1], S.ACCEPTED),
        ({"value": None, "in_place": [2, 1]}, [1, 2], S.WRONG_ANSWER),
        ({"value": None, "in_place": [2, 1]}, None, S.ACCEPTED),
        ({"value": None}, [2, 1], S.WRONG_ANSWER),
        ({"value": 3, "in_place": [2, 1]}, [2, 1], S.WRONG_ANSWER),
    ],
)
def test_a_call_that_returns_nothing(
    record: dict[str, object], wanted: object, status: Status
) -> None:
    """What it has made of its argument counts, unless a case expects null."""
    case = Case(b"[]", json.dumps(wanted).encode())
    suite = Suite(SuiteKind.CALL, (case,))
    facts = RunFacts(exit_code=0, returned=json.dumps({"ok": True, **record}).encode())
    assert judge(suite, 0, facts, LIMITS).status is status
    suite = Suite(SuiteKind.CALL, (case, Case(b"[]", b"null")))
    null = S.ACCEPTED if record["value"] is wanted is None else S.WRONG_ANSWER
    assert [judge(suite, i, facts, LIMITS).status for i in (0, 1)] == [
        null,
        S.ACCEPTED if record["value"] is None else S.WRONG_ANSWER,
    ]


VALUES = [
    (None, None, True),
    ("", "", True),
    (None, "", False),
    (True, 1, False),
    (1, True, False),
    (True, True, True),
    (False, 0, False),
    ([True], [1], False),
    (0, 0.0, True),
    (10**400, 10**400, True),
    (10**400, 10**400 + 1, False),
    (10**400, 1.5, False),
    (2**53 + 1, 2**53, False),
    (float("nan"), float("nan"), False),
    ([float("nan")], [float("nan")], False),
    (float("inf"), float("inf"), True),
    (float("inf"), 1e308, False),
    ("1", 1, False),
    ("a", "a", True),
    ("1.0", "1.00", False),
    ([], {}, False),
    ([[1], [2]], [[1], [2]], True),
    ([1, 2], [2, 1], False),
    (5, [5, 6], False),
    ([5], 5, False),
    ({"1": 1, "2": 2}, {"2": 2, "1": 1}, True),
    ({"1": 1}, {"1": 1, "2": 2}, False),
    ({"a": [0.1 + 0.2]}, {"a": [0.3]}, True),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, False),
]


@pytest.mark.parametrize(("got", "wanted", "equal"), VALUES)
def test_values(got: object, wanted: object, equal: bool) -> None:
    suite = Suite(SuiteKind.CALL, (Case(b"[]", json.dumps(wanted).encode()),))
    verdict = judge(suite, 0, RunFacts(exit_code=0, returned=ok(got)), LIMITS)
    assert verdict.status is (S.ACCEPTED if equal else S.WRONG_ANSWER)
    assert bool(verdict.message) is not equal


def value_verdict(got: bytes, wanted: bytes, comparator: str = "lines") -> tuple[Status, str]:
    suite = Suite(SuiteKind.CALL, (Case(b"[]", wanted),), comparator=Comparator(comparator))
    facts = RunFacts(exit_code=0, returned=b'{"ok": true, "value": ' + got + b"}")
    verdict = judge(suite, 0, facts, LIMITS)
    return verdict.status, verdict.message


def test_values_beyond_the_limits_of_json() -> None:
    digits = b"9" * 5000
    assert value_verdict(digits, digits)[0] is S.ACCEPTED
    assert value_verdict(digits, digits + b"9")[0] is S.WRONG_ANSWER
    deep = b"[" * 300 + b"]" * 300
    assert value_verdict(deep, deep)[0] is S.ACCEPTED
    assert value_verdict(deep, b"[" + deep + b"]")[0] is S.WRONG_ANSWER


def test_value_messages() -> None:
    message = value_verdict(b'{"a": [1, {"b": 3}]}', b'{"a": [1, {"b": 2}]}')[1]
    assert message == "result['a'][1]['b']: expected '2', got '3'"
    assert (
        value_verdict(b"[1]", b"[1, 2]")[1]
        == "result has 1 items, not 2: expected '[1,2]', got '[1]'"
    )
    assert "a list of 1000 items" in value_verdict(json.dumps([1] * 1000).encode(), b"5")[1]


def test_value_comparators() -> None:
    assert value_verdict(b"0.30000000000000004", b"0.3")[0] is S.ACCEPTED
    assert value_verdict(b"0.30000000000000004", b"0.3", "exact")[0] is S.WRONG_ANSWER
    assert value_verdict(b"5", b"[5, 6]", "prime")[0] is S.ACCEPTED
    assert value_verdict(b"true", b"1", "prime")[0] is S.ACCEPTED
    assert value_verdict(b"6", b"[5, 6]", "prime")[0] is S.WRONG_ANSWER
    assert value_verdict(b'"abc"', b'"abc"', "verl-sf")[0] is S.WRONG_ANSWER
    assert value_verdict(b"[1, 2]", b"[1, 2]", "verl-sf")[0] is S.ACCEPTED
    assert value_verdict(b"[1, 2]", b"[1,2]", "verl-sf")[0] is S.WRONG_ANSWER
    assert value_verdict(b"null", b"null", "verl-sf")[0] is S.ACCEPTED


ASSERTS = [
    (b'{"ok": true}', S.ACCEPTED),
    (failed("assertion", "AssertionError"), S.WRONG_ANSWER),
    (failed("raised", "NameError: f"), S.RUNTIME_ERROR),
    (failed("no_entry_point"), S.RUNTIME_ERROR),
    (None, S.RUNTIME_ERROR),
    (b"null", S.RUNTIME_ERROR),
]


@pytest.mark.parametrize(("returned", "status"), ASSERTS)
@pytest.mark.parametrize("code", [0, 1])
def test_assert(returned: bytes | None, status: Status, code: int) -> None:
    assert judge(ASSERT, 0, RunFacts(exit_code=code, returned=returned), LIMITS).status is status


@pytest.mark.parametrize("suite", [CALL, ASSERT])
def test_a_broken_limit_beats_the_record(suite: Suite) -> None:
    facts = RunFacts(exit_code=0, returned=ok([1, 2.5]))
    assert judge(suite, 0, facts, LIMITS).status is S.ACCEPTED
    for changes, status in (
        ({"killer": Killer.WALL}, S.TIME_LIMIT),
        ({"cpu_time_s": 2.0}, S.TIME_LIMIT),
        ({"oom_kills": 1}, S.MEMORY_LIMIT),
        ({"killer": Killer.OUTPUT}, S.OUTPUT_LIMIT),
    ):
        changed = dataclasses.replace(facts, **changes)  # type: ignore[arg-type]
        assert judge(suite, 0, changed, LIMITS).status is status


def test_exit_before_the_record_says_how() -> None:
    message = judge(ASSERT, 0, RunFacts(exit_code=0), LIMITS).message
    assert message == "the program ended before the test did: exit code 0"


# -- scores

A, W, K = S.ACCEPTED, S.WRONG_ANSWER, S.SKIPPED

SCORES = [
    ("pass_rate", [A, A], [1, 1], 1.0),
    ("pass_rate", [A, W, A], [1, 100, 1], 2 / 3),
    ("pass_rate", [W], [1], 0.0),
    ("pass_rate", [A, K, K], [1, 1, 1], 1 / 3),
    ("all_or_nothing", [A, A], [1, 1], 1.0),
    ("all_or_nothing", [A, K], [1, 1], 0.0),
    ("first_n", [A] * 5 + [W] * 5 + [A] * 90, [1] * 100, 0.5),
    ("first_n", [A, W], [1, 1], 0.5),
    ("weighted", [A, W], [3, 1], 0.75),
    ("weighted", [W, A, K], [0, 1, 1], 0.5),
    ("weighted", [A, A, A], [0.1, 0.2, 0.3], 1.0),
    ("weighted", [A, W], [0, 1], 0.0),
]


def test_partial_points_and_subtasks() -> None:
    half = [A, W, W]
    assert aggregate(half, [1, 1, 1], ScorePolicy(), points=[None, 0.5, None]) == 0.5
    assert aggregate([A, A], [1, 3], ScorePolicy("weighted"), points=[1.0, 0.5]) == 0.625
    assert aggregate([A, A], [1, 1], ScorePolicy("all_or_nothing"), points=[1.0, 0.5]) == 1.0
    assert aggregate([A, A], [1, 1], ScorePolicy(), points=[7.0, -1.0]) == 0.5
    groups = ["a", "a", "b"]
    assert aggregate([A, W, A], [1, 1, 2], ScorePolicy("subtasks"), groups=groups) == 0.5
    points = [1.0, 0.5, None]
    assert (
        aggregate([A, W, A], [1, 1, 2], ScorePolicy("subtasks"), points=points, groups=groups)
        == 0.75
    )
    assert aggregate([A, W], [1, 1], ScorePolicy("subtasks")) == 0.5
    with pytest.raises(ValueError, match="groups"):
        aggregate([A, W], [1, 1], ScorePolicy("subtasks"), groups=["a"])


@pytest.mark.parametrize(("policy", "statuses", "weights", "score"), SCORES)
def test_aggregate(policy: str, statuses: list[Status], weights: list[float], score: float) -> None:
    assert aggregate(statuses, weights, ScorePolicy(policy)) == pytest.approx(score, abs=1e-12)


def test_first_n_of_the_policy() -> None:
    assert aggregate([A, W, W], [1, 1, 1], ScorePolicy("first_n", 1)) == 1.0
    with pytest.raises(RequestError, match=r"score_policy\.n"):
        aggregate([A], [1], ScorePolicy("first_n", 0))


def test_bad_scores() -> None:
    with pytest.raises(RequestError, match="score_policy: unknown policy 'mean'"):
        aggregate([A], [1], ScorePolicy("mean"))
    with pytest.raises(ValueError, match="no cases"):
        aggregate([], [], ScorePolicy())
    for weights in ([], [1, 1], [0], [-1], [math.inf], [math.nan]):
        with pytest.raises(ValueError, match="weights"):
            aggregate([A], weights, ScorePolicy("weighted"))


STATUSES = st.lists(st.sampled_from(S), min_size=1)


@given(STATUSES, st.sampled_from(SCORE_POLICIES))
def test_scores_are_in_range_and_one_only_for_all(statuses: list[Status], policy: str) -> None:
    score = aggregate(statuses, [1.0] * len(statuses), ScorePolicy(policy, len(statuses)))
    assert 0.0 <= score <= 1.0
    assert (score == 1.0) is all(status is A for status in statuses)


def test_overall_status() -> None:
    assert overall_status([A, A]) is A
    assert overall_status([A, S.TIME_LIMIT, W]) is S.TIME_LIMIT
    assert overall_status([S.COMPILE_ERROR] * 2) is S.COMPILE_ERROR
    assert overall_status([A, K]) is K
    with pytest.raises(ValueError, match="no cases"):
        overall_status([])

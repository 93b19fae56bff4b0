"""What is done with an observation: compared, counted, shown. Nothing runs here."""

from __future__ import annotations

import dataclasses
import json

import pytest
from rich.console import Console

from verifier.cli import selfcheck as command
from verifier.cli.common import ExitCode
from verifier.stress import catalogue
from verifier.stress.catalogue import Attack, Checks, Kind
from verifier.stress.observe import CANARY, Observation, differences, plain_text, suite_of
from verifier.stress.report import Finding, Mark, by_guarantee, totals
from verifier.stress.soak import Plan, Report, mix
from verifier.types import SuiteKind

ATTACKS = {attack.key: attack for attack in catalogue.load()}
SPIN = ATTACKS["time/001-endless-loop"]


def like(attack: Attack, **changes) -> Attack:
    return dataclasses.replace(attack, **changes)


SPUN = Observation("TIME_LIMIT", killer="cpu", cpu_time_s=SPIN.limits.cpu_time_s + 0.02)


def test_what_is_as_the_catalogue_says():
    assert differences(SPIN, SPUN) == []


@pytest.mark.parametrize(
    ("attack", "seen", "says"),
    [
        (SPIN, Observation("ACCEPTED", killer="cpu", cpu_time_s=0.4), "ACCEPTED instead of TIME"),
        (SPIN, dataclasses.replace(SPUN, killer="wall"), "ended by wall instead of cpu"),
        (SPIN, dataclasses.replace(SPUN, cpu_time_s=3.0), "expected at most"),
        (SPIN, dataclasses.replace(SPUN, cpu_time_s=0.1), "expected at least"),
        (like(SPIN, stdout=(b"a\n", b"b\n")), dataclasses.replace(SPUN, stdout=b"c"), "printed"),
        (like(SPIN, contains=(b"x",)), SPUN, "did not print"),
        (like(SPIN, lacks=(b"root:",)), dataclasses.replace(SPUN, message="root:x"), "came out"),
        (
            like(SPIN, lacks=(b"root:",)),
            dataclasses.replace(SPUN, artifact=(("a", b"root:x"),)),
            "came out",
        ),
        (like(SPIN, checks=Checks(exit_code=3)), SPUN, "exit code None instead of 3"),
        (like(SPIN, checks=Checks(signal=9)), SPUN, "signal None instead of 9"),
        (
            like(SPIN, checks=Checks(memory_below_mb=1)),
            dataclasses.replace(SPUN, memory_bytes=1 << 21),
            "MiB",
        ),
        (like(SPIN, checks=Checks(message_contains="x")), SPUN, "message lacks"),
        (
            like(SPIN, checks=Checks(message_lacks="x")),
            dataclasses.replace(SPUN, message="x"),
            "message has",
        ),
        (like(SPIN, checks=Checks(artifact=("a",))), SPUN, "artifact () instead of"),
        (like(SPIN, checks=Checks(stderr_contains="x")), SPUN, "standard error lacks"),
    ],
)  # fmt: skip
def test_what_is_not_is_said(attack, seen, says):
    (problem,) = differences(attack, seen)
    assert says in problem


def test_the_suite_of_an_attack():
    call = suite_of(ATTACKS["cheating/152-equals-everything"], b"")
    assert (call.kind, call.fn_name, call.cases[0].expected) == (SuiteKind.CALL, "f", b"2")
    assert suite_of(ATTACKS["cheating/154-forges-the-asserts"], b"").kind is SuiteKind.ASSERT
    assert suite_of(ATTACKS["output/072-both-wait"], b"").interactor is not None
    assert suite_of(ATTACKS["cheating/162-checker-hangs"], b"").checker is not None


def test_the_canary_is_a_program():
    compile(CANARY, "canary", "exec")


def test_output_is_shown_without_escapes():
    assert plain_text(b"\x1b[2J\xff\n") == "\\u001b[2J\\\\xff\\n"


# ---------------------------------------------------------------- counting


def found(key, mark=Mark.HELD, guarantees=("verdict",), **changes):
    base = Finding(key, "1", "t", "namespaces", guarantees, mark=mark, runs=1)
    return base.replace(**changes)


FINDINGS = [
    found("time/a"),
    found("time/b", Mark.FAILED, problems=("wrong",)),
    found("files/c", Mark.FAILED, left=("process 1", "file /tmp/x"), runs=2),
    found("memory/d", Mark.NOT_GUARANTEED, ("memory_limit",), detail="not seen to be held"),
    found("memory/e", guarantees=("memory_limit", "verdict")),
    found("files/f", Mark.NOT_A_PROGRAM, runs=0),
    found("files/g", Mark.NO_TOOLCHAIN, runs=0),
]


def test_totals():
    total = totals(FINDINGS)
    assert (total.attacks, total.runs, total.held, total.failed) == (6, 6, 2, 2)
    assert (total.not_guaranteed, total.no_toolchain, total.survivors) == (1, 1, 2)
    assert total.sentence() == (
        "6 attacks and checks on 1 backend, 6 runs: 2 held, 1 not guaranteed here, "
        "1 without a toolchain, 2 failed; survivors 2"
    )


def test_an_attack_counts_for_each_guarantee_it_is_aimed_at():
    rows = {row.guarantee: row for row in by_guarantee(FINDINGS)}
    assert (rows["memory_limit"].attacks, rows["memory_limit"].not_guaranteed) == (2, 1)
    assert (rows["verdict"].held, rows["verdict"].failed, rows["verdict"].other) == (2, 2, 2)


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_seen(terminal):
    with open_console(terminal) as (out, text):
        show = command.Show(out, out, len(FINDINGS))
        with show.live("namespaces"):
            for finding in FINDINGS:
                show.started(finding.key)
                show.finished(finding)
        outcome = command.Outcome("namespaces", (), FINDINGS)
        show.backend(outcome)
        assert command.finish([outcome], as_json=False, out=out) is ExitCode.INCOMPLETE
        said = text()
    assert "LEFT BEHIND: process 1" in said
    assert "wrong" in said
    assert "memory_limit" in said
    assert "survivors 2" in said
    # A missing guarantee's attack is neither passed nor failed, and its problems are not shouted.
    if not terminal:
        (line,) = [text for text in said.splitlines() if "memory/d" in text]
        assert line.startswith("not guaranteed")


def open_console(terminal):
    import contextlib
    import io

    @contextlib.contextmanager
    def manager():
        stream = io.StringIO()
        out = Console(file=stream, force_terminal=terminal, width=160, highlight=False)
        yield out, stream.getvalue

    return manager()


def test_all_held_is_exit_code_0(capsys):
    outcome = command.Outcome("namespaces", (), [found("time/a")])
    assert command.finish([outcome], as_json=True, out=Console()) is ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    assert answer["totals"]["failed"] == 0
    assert answer["backends"][0]["attacks"][0]["mark"] == "held"


# ---------------------------------------------------------------- the mix


def test_a_mix_is_reproducible_and_has_its_share():
    attacks = [a for a in ATTACKS.values() if a.soak]
    assert len(attacks) > 30
    assert all(a.kind is Kind.STDIN for a in attacks)
    plan = Plan(count=1000, hostile_share=0.1, seed=7)

    def first(n):
        runs = mix(attacks, plan, frozenset({"python"}))
        return [next(runs) for _ in range(n)]

    one, other = first(1000), first(1000)
    assert [(r.name, r.task) for r in one] == [(r.name, r.task) for r in other]
    assert 70 < sum(r.attack is not None for r in one) < 130
    assert not any(r.name == "C++" for r in one)


@pytest.mark.parametrize(
    ("changes", "ok"),
    [
        ({}, True),
        ({"wrong": ["x"]}, False),
        ({"unserved": ["x"]}, False),
        ({"left": ["x"]}, False),
        ({"faults": 1}, False),
        ({"rss_bytes": [1 << 20, 1 << 30]}, False),
        ({"fds": [10, 11]}, False),
        ({"fds": [10, 11], "fd_slack": 2}, True),
    ],
)
def test_what_a_soak_must_be(changes, ok):
    report = Report("namespaces", **changes)
    assert report.ok is ok
    assert report.to_dict()["ok"] is ok

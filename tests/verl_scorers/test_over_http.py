"""verl's own client of Sandbox Fusion against our gateway, with real sandboxes behind it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import threading
from pathlib import Path

import pytest
from corpus import CORPUS, fenced, stdin
from differences import LIST
from gaps import gaps_of, score_here
from verl_python import cannot, run_in_verl, verl_python

from verifier.cli.doctor import examine
from verifier.config import Settings
from verifier.engine import Engine, make_sandbox
from verifier.errors import SuiteError
from verifier.gateway import Gateway
from verifier.scoring import close_local_engines, local_engine
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import SuiteKind

pytestmark = [pytest.mark.namespaces, pytest.mark.timeout(400)]

SCRIPT = Path(__file__).with_name("verl_over_http.py")


def kind_of(row):
    try:
        return load_suite(row.truth).kind
    except SuiteError:
        return None


# All that the HTTP side could tell apart; not the rows about what a host has no bounds for.
ROWS = [
    dataclasses.replace(row, scorers=("sf",))
    for row in CORPUS
    if "sf" in row.scorers and row.profiles and row.needs == "python" and row.timeout_s is None
]


@contextlib.contextmanager
def gateway(make, accept=()):
    """One with an HTTP side over the sandbox that `make` gives, on its own thread; its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def do(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def start():
        made = Gateway(
            Engine(make(), slots=2, accept=frozenset(accept)),
            Settings(grpc="127.0.0.1:0", http="127.0.0.1:0"),
        )
        return made, await made.start()

    made, bound = do(start())
    try:
        yield bound.http
    finally:
        do(made.stop(0))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def verl_says(address, rows, folder):
    """What verl's client makes of rows, by their ids."""
    given, taken = folder / "rows.json", folder / "scores.json"
    fields = ("id", "response", "truth", "timeout_s")
    given.write_text(json.dumps([{name: getattr(row, name) for name in fields} for row in rows]))
    run_in_verl(SCRIPT, f"http://{address}/run_code", given, taken, timeout_s=350)
    answer = json.loads(taken.read_text("ascii"))
    assert answer["verl"] == "0.9.1"
    return answer["rows"]


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """Where verl, over HTTP, and our profile `verl-sf` do not agree."""
    verl_python()
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        cannot(f"namespaces: {found.problem}", unless="VERIFIER_REQUIRE_NAMESPACES")
    accept = found.missing
    with gateway(lambda: make_sandbox("namespaces", accept=accept), accept) as address:
        said = verl_says(address, ROWS, tmp_path_factory.mktemp("http"))
    ours = score_here(ROWS, local_engine(accept=found.missing))
    close_local_engines()
    return [gap for row in ROWS for gap in gaps_of(row, said[row.id], ours[row.id]) if gap.profile]


def test_it_is_what_our_profile_gives(gaps):
    """Programs that read standard input: exactly, but for names of errors and verl's own reader."""
    rows = [row.id for row in ROWS if kind_of(row) is SuiteKind.STDIN]
    assert len(rows) >= 40
    names = (
        "compile-errors-have-a-name",
        "limits-have-a-name",
        "other-formats",
        "lists-and-numbers-as-text",
        "checkers-judge",
    )
    named = [d for d in LIST if d.name in names]
    here = [gap for gap in gaps if gap.row.id in rows]
    assert [str(gap) for gap in here if not any(d.explains(gap) for d in named)] == []


def test_all_else_is_on_the_list(gaps):
    assert [str(gap) for gap in gaps if not any(d.explains(gap) for d in LIST)] == []


def test_a_fault_is_tried_again_and_scored(tmp_path):
    """Two runs fail: that is one request without a verdict, for which verl comes back."""
    verl_python()
    row = stdin("echo", fenced("print(input())"), ("5", "5"))
    sandbox = FakeSandbox(fail_runs=[1, 2])
    with gateway(lambda: sandbox) as address:
        said = verl_says(address, [row], tmp_path)
    assert said["echo"]["sf"]["score"] == said["echo"]["sf_ten"]["score"] == 1.0
    assert len(sandbox.runs) == 4

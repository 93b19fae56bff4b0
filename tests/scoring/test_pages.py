"""The snippets of docs/scoring.md run, each in an interpreter's state of its own."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from verifier.cli.doctor import examine
from verifier.scoring import (
    close_local_engines,
    close_symbolic_pool,
    default_compute_score,
    known_sources,
    routing,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scoring.md"
TEXT = PAGE.read_text("utf-8")
SNIPPETS = [
    pytest.param(
        found["code"],
        marks=[pytest.mark.namespaces] if found["sandbox"] else [],
        id=(re.findall(r"^## (.*)$", TEXT[: found.start()], re.MULTILINE) or ["top"])[-1],
    )
    for found in re.finditer(
        r"(?P<sandbox><!-- sandbox -->\n)?```python\n(?P<code>.*?)\n```\n", TEXT, re.DOTALL
    )
]


@pytest.fixture(autouse=True)
def own_table(monkeypatch):
    monkeypatch.setattr(routing, "_routes", dict(routing._routes))


@pytest.fixture(scope="module", autouse=True)
def end_workers():
    yield
    close_symbolic_pool()
    close_local_engines()


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippet(code, request, monkeypatch):
    if request.node.get_closest_marker("namespaces"):
        found = asyncio.run(examine("namespaces"))
        if found.problem and os.environ.get("VERIFIER_REQUIRE_NAMESPACES") == "1":
            pytest.fail(found.problem)
        if found.problem:
            pytest.skip(found.problem)
        # What a host like this has to be told: which guarantees it may miss.
        monkeypatch.setitem(routing.code_scorer.__kwdefaults__, "accept", found.missing)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "snippet"})


def test_every_source_is_in_the_table():
    listed = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (.*?) \|", TEXT, re.MULTILINE))))
    assert set(known_sources()) <= listed


def test_every_scorer_has_a_part():
    parts = set(re.findall(r"^## (\S+)$", TEXT, re.MULTILINE))
    assert {*routing._ANSWER_SOURCES.values(), "code", "math_verify"} <= parts
    assert default_compute_score("aime_2031", "Answer: 5", "5")["score"] == 1.0

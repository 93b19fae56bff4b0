"""One set of rules: every field report and every example gets the same verdict on every path.

And the field reports hold, on both backends. All of it is one file, as its tests share what the
command line says of all rows (`backends`), and the tests of a file run in one worker.
"""

from __future__ import annotations

import pytest
from paths import Verdicts, fallback, gateway
from reports import (
    CASES,
    check_script,
    example_rows,
    need_reports,
    parsed,
    report_rows,
    sibling_rows,
)

from verifier.scoring import close_local_engines

pytestmark = pytest.mark.timeout(540)
namespaces, docker = pytest.mark.namespaces, pytest.mark.docker
BACKEND = "namespaces"
PATHS = {"gateway": gateway, "fallback": fallback}


def differences(path: Verdicts, offline: Verdicts, ids: list[str]) -> dict[str, object]:
    return {
        name: {"here": path.get(name), "offline": offline.get(name)}
        for name in ids
        if path.get(name) != offline.get(name)
    }


@pytest.fixture(scope="module", params=PATHS)
def verdicts(request, backends):
    accept = backends.need(BACKEND).missing
    yield PATHS[request.param](
        parsed(report_rows() + example_rows() + sibling_rows()), BACKEND, accept=accept
    )
    close_local_engines()


@namespaces
def test_examples(verdicts, backends):
    ids = [row["id"] for row in example_rows()]
    assert len(ids) >= 40
    assert differences(verdicts, backends.offline(BACKEND), ids) == {}


@namespaces
def test_field_reports(verdicts, backends):
    need_reports()
    ids = [row["id"] for row in report_rows()]
    assert len(ids) >= 91, CASES
    assert differences(verdicts, backends.offline(BACKEND), ids) == {}


@namespaces
def test_siblings(verdicts, backends):
    """More of the reports' kinds: the right scores, and the same ones on every path."""
    rows = sibling_rows()
    assert len(rows) >= 150
    offline = backends.offline(BACKEND)
    assert differences(verdicts, offline, [row["id"] for row in rows]) == {}
    wrong = {}
    for row in rows:
        found = offline[row["id"]]
        got = found.score if found.outcome == "SCORED" else found.outcome
        if got != row["expected"]:
            wrong[row["id"]] = (got, row["expected"], found)
    assert wrong == {}


# ---------------------------------------------------------------- the field reports hold


@pytest.mark.parametrize(
    "backend", [pytest.param("namespaces", marks=namespaces), pytest.param("docker", marks=docker)]
)
def test_all_reports_hold(backend, backends, capsys):
    need_reports()
    backends.need_all_of(backend)
    total = len(report_rows())
    assert total >= 91
    failed = check_script().hold(CASES, backends.results(backend))
    said = capsys.readouterr().out
    assert not failed, said
    assert said.splitlines() == [f"{total} of {total} hold"]


@namespaces
@docker
def test_both_backends_say_the_same(backends):
    need_reports()
    for backend in ("namespaces", "docker"):
        backends.need_all_of(backend)
    first, second = (backends.offline(backend) for backend in ("namespaces", "docker"))
    ids = [row["id"] for row in report_rows()]
    differ = {i: (first[i], second[i]) for i in ids if first[i] != second[i]}
    assert differ == {}

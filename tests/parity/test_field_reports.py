"""Every field report about a score holds, on both backends, with equal verdicts."""

from __future__ import annotations

import pytest
from reports import CASES, check_script, need_reports, report_rows

pytestmark = pytest.mark.timeout(540)


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("namespaces", marks=pytest.mark.namespaces),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def test_all_hold(backend, backends, capsys):
    need_reports()
    backends.need_all_of(backend)
    total = len(report_rows())
    assert total >= 91
    failed = check_script().hold(CASES, backends.results(backend))
    said = capsys.readouterr().out
    assert not failed, said
    assert said.splitlines() == [f"{total} of {total} hold"]


@pytest.mark.namespaces
@pytest.mark.docker
def test_both_backends_say_the_same(backends):
    need_reports()
    for backend in ("namespaces", "docker"):
        backends.need_all_of(backend)
    first, second = (backends.offline(backend) for backend in ("namespaces", "docker"))
    ids = [row["id"] for row in report_rows()]
    differ = {i: (first[i], second[i]) for i in ids if first[i] != second[i]}
    assert differ == {}

"""The data doctor on a set with planted faults: each is found, and no clean row is accused."""

from __future__ import annotations

import json

import pytest

from tests.cli.helpers import invoke
from tests.conftest import ACCEPTABLE, IMAGE, require_backend
from tests.data.planted import clean_rows, examined, planted
from verifier.cli.common import ExitCode
from verifier.data.doctor import KINDS, Severity

# One fixture runs some hundred programs, which a busy machine takes its time for.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("namespaces", 1), marks=pytest.mark.namespaces),
        # Who runs the programs changes nothing of what is found: less of what is clean is enough.
        pytest.param(("docker", 4), marks=pytest.mark.docker),
    ],
    ids=lambda param: param[0],
)
def found(request, tmp_path_factory):
    """The whole set, examined once, with each backend."""
    backend, step = request.param
    require_backend(backend)
    folder = tmp_path_factory.mktemp("doctor")
    args = (
        *("--backend", backend, "--accept", ",".join(ACCEPTABLE), "--max-cases", "20"),
        *(("--image", IMAGE) if backend == "docker" else ()),
        *("--clean", folder / "clean.jsonl"),
    )
    rows = [
        *(one for n, one in enumerate(clean_rows()) if n % step == 0 or one["id"] in TWICE),
        *planted()[""],
        *(one for kind, some in planted().items() if kind for one in some),
    ]
    findings, done = examined(folder, *args, rows=rows)
    return findings, done, folder


# Clean rows that planted ones repeat.
TWICE = ("clean-0", "clean-1")
PLANTED = [(kind, one["id"]) for kind, some in planted().items() if kind for one in some]


def test_there_are_enough_of_both():
    assert len({kind for kind, _ in PLANTED}) >= 15
    assert len(clean_rows()) >= 40
    assert {kind for kind, _ in PLANTED} <= KINDS.keys()


@pytest.mark.parametrize(("kind", "name"), PLANTED)
def test_every_planted_fault_is_found(found, kind, name):
    findings, _, _ = found
    assert name in findings.get(kind, {})


def test_no_clean_row_is_accused(found):
    findings, _, _ = found
    clean = {one["id"] for one in [*clean_rows(), *planted()[""]]} - {"clean-1"}
    accused = {
        (kind, name): why
        for kind, some in findings.items()
        for name, why in some.items()
        if name in clean
    }
    assert accused == {}


def test_no_planted_row_is_accused_of_another_error(found):
    findings, _, _ = found
    assert {(kind, name) for kind, some in findings.items() for name in some} <= set(PLANTED)


def test_the_cleaned_file_and_the_reasons(found):
    findings, done, folder = found
    errors = {
        name
        for kind, some in findings.items()
        if KINDS[kind].severity is Severity.ERROR
        for name in some
    }
    lines = (folder / "rows.jsonl").read_text().splitlines()
    kept = (folder / "clean.jsonl").read_text().splitlines()
    reasons = [
        json.loads(line) for line in (folder / "clean.jsonl.dropped.jsonl").read_text().splitlines()
    ]
    assert len(kept) + len(reasons) == len(lines)
    assert set(kept) <= set(lines)
    assert {one["id"] for one in reasons} == errors
    assert all(why["name"] in KINDS and why["reason"] for one in reasons for why in one["reasons"])
    assert json.loads(done.stdout)["rows_kept"] == len(kept)
    assert done.exit_code == ExitCode.INCOMPLETE
    # The first of two rows with one id stays.
    assert [json.loads(line)["id"] for line in kept].count("clean-1") == 1


def test_a_cleaned_file_has_nothing_left_to_drop(found):
    _, _, folder = found
    done = invoke("doctor", "data", folder / "clean.jsonl", "--no-run", "--json")
    assert json.loads(done.stdout)["rows_with_errors"] == 0
    assert done.exit_code == ExitCode.OK

"""`verifier selfcheck`, as a user runs it: as root on both backends, and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.cli.common import ExitCode
from verifier.sandbox.conformance import CHECKS
from verifier.stress import catalogue

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
MISSING = ("memory_limit", "cpu_accounting")
# The whole catalogue, the whole conformance suite, and the look at the service after it.
EVERYTHING = {
    *(attack.key for attack in catalogue.load()),
    *(f"conformance/{check.name}" for check in CHECKS),
    "service",
}
# Runs as root in mounts of its own: makes the places of the arguments reachable for everybody (a
# home may be closed, and an interpreter or a checkout lie in it), then becomes somebody else.
OPEN_THE_WAY = r"""
set -eu
user=$1 home=$2
shift 2
stash=$(mktemp -d)
chmod 755 "$stash"
number=0
for place in $PLACES; do
  number=$((number + 1))
  mkdir "$stash/$number"
  mount --bind "$place" "$stash/$number"
done
for closed in $CLOSED; do mount -t tmpfs -o mode=755 none "$closed"; done
number=0
for place in $PLACES; do
  number=$((number + 1))
  mkdir -p "$place"
  mount --bind "$stash/$number" "$place"
done
exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
  env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" TMPDIR="$home" "$@"
"""


def findings(done: subprocess.CompletedProcess[str], expect: int = ExitCode.OK) -> dict:
    assert done.stdout, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    (backend,) = answer["backends"]
    failed = [
        (a["key"], a["problems"], a["left"]) for a in backend["attacks"] if a["mark"] == "FAILED"
    ]
    assert failed == []
    assert done.returncode == expect, done.stderr[-3000:]
    assert answer["totals"]["survivors"] == 0
    return answer


def selfcheck(*args: str) -> list[str]:
    return [sys.executable, "-m", "verifier.cli", "selfcheck", "--json", *args]


@pytest.mark.timeout(600)
def test_everything_is_held(backend, sandbox_of):
    args = ["--backend", backend]
    if backend == "docker":
        args += ["--image", sandbox_of.keywords["image"]]
    if os.geteuid() != 0 and backend == "namespaces":
        args += ["--accept", ",".join(MISSING)]
    done = subprocess.run(
        selfcheck(*args), capture_output=True, text=True, cwd=ROOT, check=False, timeout=590
    )
    answer = findings(done)
    (result,) = answer["backends"]
    assert {a["key"] for a in result["attacks"]} == EVERYTHING
    assert answer["totals"]["attacks"] == len(EVERYTHING) - answer["totals"]["no_program"]
    assert answer["totals"]["backends"] == 1
    if os.environ.get("VERIFIER_REQUIRE_DOCKER") == "1":  # its image has all toolchains
        assert answer["totals"]["no_toolchain"] == 0
    if os.geteuid() == 0:
        assert answer["totals"]["not_guaranteed"] == 0
        assert answer["backends"][0]["swept"]["hidden"] == []


def closed_ancestors(places: list[Path]) -> list[Path]:
    """The topmost folders that an ordinary user cannot pass."""
    found = set()
    for place in places:
        for folder in reversed([place, *place.parents]):
            if not folder.stat().st_mode & 0o001:
                found.add(folder)
                break
    return sorted(found)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "backend", [pytest.param("namespaces", marks=pytest.mark.namespaces)], indirect=True
)
def test_an_ordinary_user_has_the_same_verdicts(backend, tmp_path_factory):
    """What is not guaranteed there is said: it is neither skipped nor passed."""
    if os.geteuid() != 0:
        pytest.skip("the test above ran as an ordinary user")
    for tool in ("unshare", "setpriv", "mount"):
        assert shutil.which(tool), f"{tool} is needed (util-linux)"
    home = tmp_path_factory.mktemp("home")
    os.chown(home, NOBODY, NOBODY)
    places = list(dict.fromkeys([ROOT, Path(sys.prefix), Path(sys.base_prefix)]))
    places = [p for p in places if p != Path("/usr")]
    closed = closed_ancestors([*places, home])
    reachable = [home, *(p for p in places if any(c in [p, *p.parents] for c in closed))]
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", OPEN_THE_WAY, "sh"),
            *(str(NOBODY), str(home)),
            *selfcheck("--accept", ",".join(MISSING)),
        ],
        env={
            "PATH": os.environ["PATH"],
            "PLACES": " ".join(map(str, reachable)),
            "CLOSED": " ".join(map(str, closed)),
        },
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=590,
    )
    answer = findings(done)
    (result,) = answer["backends"]
    marks = {a["key"]: a for a in result["attacks"]}
    assert marks.keys() == EVERYTHING
    held = {g["name"]: g["holds"] for g in result["guarantees"]}
    assert {name for name, holds in held.items() if not holds} <= {*MISSING, "separate_uid"}
    for attack in marks.values():
        missing = not all(held.get(name, True) for name in attack["guarantees"])
        assert (attack["mark"] == "not guaranteed") == (missing and attack["mark"] != "no program")
    if not held["memory_limit"]:
        assert answer["totals"]["not_guaranteed"] > 10
        assert "not guaranteed" in marks["memory/own-05-memfds"]["mark"]


@pytest.mark.timeout(300)
@pytest.mark.docker
@pytest.mark.namespaces
@pytest.mark.parametrize("backend", ["docker"], indirect=True)
def test_the_summary_counts_both_backends(backend, sandbox_of):
    args = ["--backend", "namespaces", "--backend", backend, "--only", "conformance"]
    args += ["--image", sandbox_of.keywords["image"], "--accept", ",".join(MISSING)]
    argv = [word for word in selfcheck(*args) if word != "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False, timeout=290)
    assert done.returncode == ExitCode.OK, done.stdout[-3000:]
    last = done.stdout.splitlines()[-1]
    # The look at the service counts for each backend.
    assert last.startswith(f"{2 * (len(CHECKS) + 1)} attacks and checks on 2 backends, "), last
    assert last.endswith("0 failed; survivors 0")


def test_a_missing_guarantee_is_refused_and_an_unknown_group_named(backend):
    done = subprocess.run(
        selfcheck("--only", "everything"), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == ExitCode.USAGE
    assert "no group everything" in done.stderr
    done = subprocess.run(
        selfcheck("--backend", "process"), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == ExitCode.USAGE
    assert "isolates nothing" in done.stderr

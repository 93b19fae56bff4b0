"""`verifier score --engine ray`: two nodes of which one is killed, an actor that is killed, Ctrl-C,
and a run that goes on with the local engine. The results are those of the local engine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tests import ray_nodes
from tests.cli.helpers import invoke, jsonl, plain
from tests.conftest import ACCEPTABLE
from verifier.cli.common import ExitCode

pytest.importorskip("ray", reason="the engine needs the extra 'ray'")
ROWS = 200
SANDBOX = ["--backend", "namespaces", "--accept", ",".join(ACCEPTABLE)]
TRUTH = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}


class Cluster:
    """Two nodes of one core each, what ran on them, and commands that join them."""

    def __init__(self, place):
        self.environment = ray_nodes.environment(place)
        self.process = subprocess.Popen(
            [sys.executable, ray_nodes.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment,
        )  # fmt: skip
        said = ray_nodes.answer(self.process.stdout)
        if said is None:
            self.close()
            pytest.fail("the cluster did not start; see standard error")
        self.address, self.raylet = said["address"], said["raylet"]
        self.processes = set()
        self.actors = []

    @contextlib.contextmanager
    def score(self, rows, out, *options):
        """A run, in a process group of its own as a shell makes one."""
        command = [
            sys.executable,
            "-m",
            "verifier.cli",
            "score",
            rows,
            "-o",
            out,
            "--engine",
            "ray",
        ]
        address = ["--ray-address", self.address, "--json"]
        with subprocess.Popen(
            [*map(str, command), *address, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment, start_new_session=True,
        ) as run:  # fmt: skip
            try:
                yield run
            finally:
                run.kill()

    def until_there(self, run, actors):
        """Until so many further actors score; returns their processes."""
        found, lines = [], []
        for line in run.stderr:
            lines.append(line)
            if at := re.search(r"a worker is on node .* process (\d+)\)", line):
                found.append(int(at[1]))
            if len(found) == actors:
                break
        assert len(found) == actors, "".join(lines)
        self.actors += found
        self.processes |= {*psutil.Process(self.process.pid).children(recursive=True)}
        return found

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def cluster(namespaces):
    with tempfile.TemporaryDirectory(prefix="ray") as place:
        made = Cluster(place)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Each a program of its own, or caches would answer; every third is wrong."""
    return jsonl(
        tmp_path_factory.mktemp("rows") / "rows.jsonl",
        *(
            {
                "id": f"p{n // 4}/{n % 4}",
                "data_source": "s",
                "response": f"```python\nn = {n}\nprint({2 if n % 3 else 3} * int(input()))\n```\n",
                "ground_truth": TRUTH if n % 50 else {"inputs": [], "outputs": []},
            }
            for n in range(ROWS)
        ),
    )


@pytest.fixture(scope="module")
def wanted(rows, tmp_path_factory, namespaces):
    """What the local engine says."""
    out = tmp_path_factory.mktemp("local") / "results.jsonl"
    assert invoke("score", rows, "-o", out, "-q", *SANDBOX).exit_code == ExitCode.INCOMPLETE
    return verdicts(out)


def verdicts(out):
    """The results without what is measured."""
    results = [json.loads(line) for line in out.read_text(encoding="ascii").splitlines()]
    for result in results:
        del result["timing"]
        for case in result["cases"]:
            for name in ("cpu_time_s", "wall_time_s", "queue_s", "memory_bytes"):
                del case[name]
    return results


def lines(out):
    return out.read_bytes().count(b"\n") if out.exists() else 0


def cgroups(pids):
    """Control groups that an engine in one of these processes made."""
    made = Path("/sys/fs/cgroup").glob("**/verifier-*")
    return [path for path in made if path.name.split("-")[1] in set(map(str, pids))]


@pytest.mark.namespaces
@pytest.mark.timeout(300)
def test_a_node_that_is_killed_costs_no_row(cluster, rows, wanted, tmp_path):
    out = tmp_path / "results.jsonl"
    with cluster.score(rows, out, *SANDBOX) as run:
        cluster.until_there(run, 2)
        os.kill(cluster.raylet, signal.SIGKILL)
        assert lines(out) < ROWS, "it was to be killed before the end"
        stdout, told = run.communicate()
    assert run.returncode == ExitCode.INCOMPLETE, told
    assert "died: " in told
    assert verdicts(out) == wanted
    # Whatever Ray has to say of the node, standard output is for the answer.
    assert json.loads(stdout)["rows"] == ROWS


@pytest.mark.namespaces
@pytest.mark.timeout(300)
def test_an_actor_that_is_killed_and_a_run_that_goes_on_with_the_local_engine(
    cluster, rows, wanted, tmp_path
):
    out = tmp_path / "results.jsonl"
    with cluster.score(rows, out, *SANDBOX) as run:
        (actor,) = cluster.until_there(run, 1)  # the other node is gone
        os.kill(actor, signal.SIGKILL)
        (again,) = cluster.until_there(run, 1)
        assert again != actor
        done = lines(out)
        while run.poll() is None and lines(out) < done + 20:
            os.sched_yield()
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        _, told = run.communicate()
    assert run.returncode == ExitCode.INTERRUPTED, told
    assert "--resume goes on" in told
    begun = lines(out)
    assert done + 20 <= begun < ROWS
    assert verdicts(out) == wanted[:begun]

    resumed = invoke("score", rows, "-o", out, "--resume", *SANDBOX)
    assert resumed.exit_code == ExitCode.INCOMPLETE, resumed.output
    assert f"going on behind {begun} rows" in resumed.stderr
    assert verdicts(out) == wanted


@pytest.mark.namespaces
@pytest.mark.timeout(300)
def test_an_actor_that_cannot_open_its_sandbox_says_the_node_and_why(cluster, rows, tmp_path):
    with cluster.score(rows, tmp_path / "results.jsonl", "--backend", "process") as run:
        _, told = run.communicate()
    assert run.returncode == ExitCode.USAGE
    assert re.search(r"node \S+ \(\S+, process \d+\): .*process isolates nothing", plain(told))
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.namespaces
@pytest.mark.timeout(300)
def test_actors_may_be_clients_of_gateways(cluster, rows, tmp_path):
    out = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "verifier.cli", "serve", "--grpc", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--backend", "fake", "--allow-unsafe"],
        stdout=subprocess.PIPE, text=True, env=cluster.environment,
    ) as gateway:  # fmt: skip
        try:
            address = gateway.stdout.readline().split()[-1]
            with cluster.score(rows, out, "--server", address, "--limit", "20") as run:
                _, told = run.communicate()
        finally:
            gateway.terminate()
    assert run.returncode == ExitCode.INCOMPLETE, told  # the first row is broken
    assert [result["runner"] for result in verdicts(out)[1:]] == ["fake"] * 19


@pytest.mark.namespaces
@pytest.mark.timeout(300)
async def test_nothing_is_left_behind(cluster, namespaces):
    cluster.close()
    _, alive = psutil.wait_procs(cluster.processes, timeout=30)
    assert cluster.processes
    assert alive == []
    # The groups of an actor that was killed go when the next engine of its machine starts.
    sandbox = namespaces()
    await sandbox.start()
    await sandbox.close()
    assert cgroups(cluster.actors) == []

"""A Ray of two nodes on this machine, for tests that lose one of them.

`Cluster` wants a process of its own: a script of a test uses `two_nodes`, or the test runs this
file, which prints where the cluster is and keeps it until its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A node that is lost is noticed in about a second.
_SYSTEM = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_failure_threshold": 3,
}


def environment(place, *paths):
    """Of a process that runs or joins such a cluster.

    `place` is a folder of its own, or another `ray.init()` of this machine would join this cluster;
    a short one, for the names of its sockets.
    """
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths))),
        "RAY_AUTH_MODE": "disabled",  # read when ray is imported
        "RAY_TMPDIR": str(place),
        "RAY_raylet_start_wait_time_s": "120",  # a busy machine
    }


def answer(lines):
    """What a process printed for its test; the rest of its standard output is Ray's."""
    for line in lines:
        if line.startswith("ANSWER "):
            return json.loads(line.removeprefix("ANSWER "))
    return None


def give_answer(value):
    """Print it."""
    sys.stdout.write(f"ANSWER {json.dumps(value)}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def two_nodes(num_cpus):
    """The cluster, and its second node, which is not the one that a driver joins."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": num_cpus, "object_store_memory": 100 * 1024 * 1024}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**node, "_system_config": _SYSTEM, "include_dashboard": False},
    )
    try:
        other = cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield cluster, other
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    with two_nodes(num_cpus=1) as (made, second):
        raylet = second.all_processes["raylet"][0].process.pid
        give_answer({"address": made.address, "raylet": raylet})
        sys.stdin.read()

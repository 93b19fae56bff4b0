"""Run by test_ray_engine.py in a process of its own: a Ray of two one-core nodes on this machine.
Prints JSON once it stands, and ends when its standard input does.
"""

from __future__ import annotations

import json
import sys

from ray.cluster_utils import Cluster

SYSTEM = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_failure_threshold": 3,
}
NODE = {"num_cpus": 1, "object_store_memory": 100 * 1024 * 1024}


def main() -> None:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**NODE, "_system_config": SYSTEM, "include_dashboard": False},
    )
    try:
        nodes = [cluster.head_node, cluster.add_node(**NODE)]
        cluster.wait_for_nodes()
        raylets = [node.all_processes["raylet"][0].process.pid for node in nodes]
        said = {"address": cluster.address, "raylets": raylets}
        sys.stdout.write(f"ANSWER {json.dumps(said)}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()

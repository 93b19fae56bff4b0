from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the reward managers need the extra 'rl'")
os.environ["RAY_AUTH_MODE"] = "disabled"  # read when ray is imported
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine
pytest.importorskip("ray", reason="the reward loop needs the extra 'loop'")

HERE = Path(__file__).parent
REWARDS = HERE.parent / "rewards"
sys.path.insert(0, str(REWARDS))
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def ray_here(tmp_path_factory):
    """A Ray of two one-core nodes' worth on this machine; its workers see the checkout."""
    import ray

    path = os.pathsep.join(map(str, (HERE.parents[1], REWARDS, HERE)))
    ray.init(
        address="local",  # whatever else runs on this machine
        num_cpus=4,
        num_gpus=0,
        include_dashboard=False,
        object_store_memory=100 * 1024 * 1024,
        log_to_driver=False,
        configure_logging=False,
        runtime_env={"env_vars": {"PYTHONPATH": path}},
    )
    yield ray
    ray.shutdown()

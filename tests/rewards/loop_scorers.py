"""Scorers that worker processes import by name."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path


def length(data_source, solution_str, ground_truth, extra_info):
    return len(solution_str) / 4


def length_later(data_source, solution_str, ground_truth, extra_info):
    async def later():
        return len(solution_str) / 4

    return later()


def where(data_source, solution_str, ground_truth, extra_info):
    return {"score": 1.0, "pid": os.getpid()}


def whatever(data_source, solution_str, ground_truth, extra_info):
    """Does what the response says."""
    if solution_str == "raise":
        raise ValueError("no")
    if solution_str == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if solution_str == "exit":
        raise SystemExit(3)
    if solution_str == "hang":
        time.sleep(3600)
    if solution_str == "lock":
        return threading.Lock()
    if solution_str == "fork":
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    if solution_str == "dict":
        return {"score": 0.5, "acc": 1.0}
    return 0.25


def dies_once(data_source, solution_str, ground_truth, extra_info, marker):
    """The first that is asked about "dies" kills its process."""
    if solution_str == "dies":
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0.75
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.75


def until_its_node_is_lost(data_source, solution_str, ground_truth, extra_info, folder, doomed):
    """Writes down where it is called. On the node that is doomed it says so, and never returns."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    with (Path(folder) / "calls").open("a") as calls:  # short lines: whole ones, whoever writes
        calls.write(f"{solution_str} {node}\n")
    if node == doomed:
        with (Path(folder) / "at_it").open("w"):  # a pipe: waits for its reader
            threading.Event().wait()
    return {"score": 1.0, "node": node}

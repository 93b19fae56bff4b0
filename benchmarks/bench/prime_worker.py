"""Runs in verl's environment: verl's prime_code, one JSON order a line, one answer each.

python prime_worker.py PROCESSES
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from verl.utils.reward_score import prime_code


def score(job: tuple[str, object]) -> bool:
    """One response, as verl's `default_compute_score` calls it."""
    response, truth = job
    success, _ = prime_code.compute_score(response, truth, continuous=True)
    return success is True


def main() -> None:
    """Until the end of standard input."""
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    # verl prints to standard output.
    os.dup2(2, 1)
    with ProcessPoolExecutor(int(sys.argv[1])) as pool:
        answers.write("ready\n")
        answers.flush()
        for line in orders:
            order = json.loads(line)
            jobs = [(response, order["truth"]) for response in order["responses"]]
            start = time.perf_counter()
            right = sum(pool.map(score, jobs) if order["pool"] else map(score, jobs))
            took = time.perf_counter() - start
            answers.write(json.dumps({"seconds": took, "right": right}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()

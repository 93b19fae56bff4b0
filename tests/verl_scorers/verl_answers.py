"""Runs under the python of the verl environment: what verl's own scorers say of answers.

    python verl_answers.py ROWS.json SCORES.json

The packages above the scorers' are not run, which load torch: `prime_math` forks a process for
every comparison, and that is much cheaper from a small one.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import sys
import types
from pathlib import Path


def without_init(name):
    spec = importlib.util.find_spec(name)
    package = types.ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package


def answer_to(row, scorers):
    try:
        if row["source"] == "math_verify":
            module = importlib.import_module("verl.utils.reward_score.math_verify")
            # It and the library below it give up by the wall clock, with a 0: a busy machine is
            # no difference between the rules.
            tries = (module.compute_score(row["response"], row["truth"]) for _ in range(3))
            return {"value": next((score for score in tries if score), 0.0)}
        value = scorers.default_compute_score(row["source"], row["response"], row["truth"])
    except Exception as error:  # noqa: BLE001 - what it raises is what is compared
        return {"raises": type(error).__name__}
    return {"value": value}


def main(given, taken):
    for name in ("verl", "verl.utils"):
        without_init(name)
    scorers = importlib.import_module("verl.utils.reward_score")
    answers = {}
    # One of the scorers prints a sample of what it sees.
    with contextlib.redirect_stdout(sys.stderr):
        for row in json.loads(Path(given).read_text("ascii")):
            answers[row["id"]] = answer_to(row, scorers)
    answer = {"verl": importlib.metadata.version("verl"), "answers": answers}
    Path(taken).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])

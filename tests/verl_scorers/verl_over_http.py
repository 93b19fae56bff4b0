"""Runs under the python of the verl environment: verl's client of Sandbox Fusion, as it is.

python verl_over_http.py URL ROWS.json SCORES.json
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
import threading
import types
from pathlib import Path

TIMEOUT_S = 10
# verl's codes, of its names: -2 runtime error, -3 time limit, -4 does not compile; -1 is a fault.
CODES = {
    "success": True,
    "wrong_answer": False,
    "runtime_error": -2,
    "timeout": -3,
    "compile_error": -4,
}


def without_init(name):
    spec = importlib.util.find_spec(name)
    package = types.ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package


def fusion(module, url, row, *, continuous):
    score, metadata = module.compute_score(
        url,
        threading.Semaphore(8),
        1024,
        row["response"],
        json.loads(json.dumps(row["truth"])),
        continuous,
        row["timeout_s"] or TIMEOUT_S,
    )
    codes = [CODES.get(m["status"], -1) if "status" in m else None for m in metadata]
    errors = [m["error"] for m in metadata if "error" in m]
    return {"score": score, "type": type(score).__name__, "codes": codes, "errors": errors}


def main(url, given, taken):
    for name in ("verl", "verl.utils", "verl.utils.reward_score"):
        without_init(name)
    module = importlib.import_module("verl.utils.reward_score.sandbox_fusion")
    said = {}
    for row in json.loads(Path(given).read_text("ascii")):
        said[row["id"]] = {
            "sf": fusion(module, url, row, continuous=False),
            "sf_ten": fusion(module, url, row, continuous=True),
        }
    answer = {"verl": importlib.metadata.version("verl"), "rows": said}
    Path(taken).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])

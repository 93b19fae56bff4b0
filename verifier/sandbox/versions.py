"""Which toolchains a slot has: asked inside of it, in one run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

from verifier.languages import Recipe
from verifier.sandbox.base import CompileJob, RunJob, Slot
from verifier.sandbox.probe import PROBE_LIMITS
from verifier.types import Harness

_SCRIPT = b"""
import json, shutil, subprocess, sys
found, said = {}, {}
def first_line(argv):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else "unknown"
for name, (version, needs) in json.load(sys.stdin).items():
    if all(map(shutil.which, needs)):
        key = tuple(version)
        if key not in said:
            said[key] = first_line(version)
        if said[key] is not None:
            found[name] = said[key]
print(json.dumps(found))
"""
_LIMITS = dataclasses.replace(
    PROBE_LIMITS, cpu_time_s=30.0, wall_time_s=60.0, memory_bytes=1024**3, processes=256
)


async def probe_versions(slot: Slot, recipes: Mapping[str, Recipe]) -> dict[str, str]:
    """Canonical language -> first line of what its version command prints."""
    wanted = {name: (recipe.version_argv, recipe.programs) for name, recipe in recipes.items()}
    compiled = await slot.compile(CompileJob(Harness.PYTHON, {"main.py": _SCRIPT}, (), (), _LIMITS))
    job = RunJob(Harness.PYTHON, compiled.artifact, (), [json.dumps(wanted).encode()], _LIMITS)
    found: dict[str, str] = {}
    async for facts in slot.run(job):
        if facts.exit_code == 0:
            found = json.loads(facts.stdout)
    return found

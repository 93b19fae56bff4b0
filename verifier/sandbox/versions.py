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
found = {}
for name, (version, needs) in json.load(sys.stdin).items():
    program = shutil.which(version[0])
    if program is None or not all(map(shutil.which, needs)):
        continue
    try:
        done = subprocess.run(
            [program, *version[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        continue
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    found[name] = lines[0] if lines else "unknown"
print(json.dumps(found))
"""
_LIMITS = dataclasses.replace(
    PROBE_LIMITS, cpu_time_s=30.0, wall_time_s=60.0, memory_bytes=1024**3, processes=256
)


async def probe_versions(slot: Slot, recipes: Mapping[str, Recipe]) -> dict[str, str]:
    """Canonical language -> first line of what its version command prints."""
    wanted = {
        name: (recipe.version_argv, [*recipe.compile_argv[:1], *recipe.needs])
        for name, recipe in recipes.items()
    }
    compiled = await slot.compile(CompileJob(Harness.PYTHON, {"main.py": _SCRIPT}, (), (), _LIMITS))
    job = RunJob(Harness.PYTHON, compiled.artifact, (), [json.dumps(wanted).encode()], _LIMITS)
    found: dict[str, str] = {}
    async for facts in slot.run(job):
        if facts.exit_code == 0:
            found = json.loads(facts.stdout)
    return found

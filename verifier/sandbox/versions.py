"""Which toolchains a slot has, and which of their libraries: asked inside of it, in one run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from verifier.languages import Recipe
from verifier.sandbox.base import CompileJob, RunJob, Slot
from verifier.sandbox.probe import PROBE_LIMITS
from verifier.types import Harness

# A version command waits for files more than it computes, and there are thirty of them.
_SCRIPT = b"""
import concurrent.futures, glob, importlib.metadata, itertools, json, re, shutil, subprocess, sys
def first_line(argv):
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    if lines or not done.returncode:
        return lines[0] if lines else "unknown"
    return None
def library(name, files, pattern):
    if not files:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None
    for path in sorted(glob.glob(files)):
        for text in (path, content(path)):
            found = [match.groups() for match in re.finditer(pattern, text)]
            if found:
                return ".".join(itertools.chain.from_iterable(found))
    return None
def content(path):
    try:
        with open(path, encoding="latin-1") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
wanted = json.load(sys.stdin)
there = {n: w for n, w in wanted.items() if all(map(shutil.which, w["needs"]))}
commands = sorted({tuple(w["version"]) for w in there.values()})
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    said = dict(zip(commands, pool.map(first_line, commands)))
versions, packages = {}, {}
for name, w in there.items():
    version = said[tuple(w["version"])]
    if version is None:
        continue
    versions[name] = version
    found = {one[0]: library(*one) for one in w["libraries"]}
    packages[name] = {key: value for key, value in found.items() if value}
print(json.dumps({"versions": versions, "packages": packages}))
"""
_LIMITS = dataclasses.replace(
    PROBE_LIMITS, cpu_time_s=30.0, wall_time_s=60.0, memory_bytes=1024**3, processes=256
)


@dataclass(frozen=True, slots=True)
class Toolchains:
    """What was found.

    Attributes:
        versions: Canonical language -> first line of what its version command prints.
        packages: Canonical language -> library -> version, of the recipe's that are there.
    """

    versions: dict[str, str] = field(default_factory=dict)
    packages: dict[str, dict[str, str]] = field(default_factory=dict)


async def probe_versions(slot: Slot, recipes: Mapping[str, Recipe]) -> Toolchains:
    """Ask a slot."""
    wanted = {
        name: {
            "version": recipe.version_argv,
            "needs": recipe.programs,
            "libraries": [(one.name, one.files, one.version) for one in recipe.libraries],
        }
        for name, recipe in recipes.items()
    }
    compiled = await slot.compile(CompileJob(Harness.PYTHON, {"main.py": _SCRIPT}, (), (), _LIMITS))
    job = RunJob(Harness.PYTHON, compiled.artifact, (), [json.dumps(wanted).encode()], _LIMITS)
    found = Toolchains()
    async for facts in slot.run(job):
        if facts.exit_code == 0:
            found = Toolchains(**json.loads(facts.stdout))
    return found

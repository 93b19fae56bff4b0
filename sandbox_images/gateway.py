"""The gateway's image: a small Debian with Python, and this package with its libraries beside it.

The libraries are those of gateway.txt, laid into a folder by the builder's own pip for the Python
of the base, so neither pip nor a compiler is in the image. The base is kept under a name of its
own: after a change of this package only the folder is laid anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox_images.recipe import HERE, LABEL_ORIGIN, LABEL_RECIPE

TAG = "verifier-gateway:latest"
BASE_TAG = "verifier-gateway-base:latest"
PACKAGES = ("python3", "libstdc++6")
ROOT = HERE.parent
# Newest first is not needed: a wheel of any of them runs on Debian 12 and later.
PLATFORMS = ("linux", "manylinux2014", "manylinux_2_17", "manylinux_2_28", "manylinux_2_34")


def system_digest(origin: str) -> str:
    """Hex SHA-256 of what decides the system under the package."""
    return _digest([origin, PACKAGES, (HERE / "Dockerfile.gateway").read_text()])


def digest(origin: str) -> str:
    """Hex SHA-256 of all that decides what the image holds: the package's own files too."""
    files = [ROOT / "pyproject.toml", ROOT / "hatch_build.py", HERE / "gateway.txt"]
    files += sorted(
        path
        for path in (ROOT / "verifier").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    content = [[os.path.relpath(path, ROOT), _digest(path.read_bytes())] for path in files]
    return _digest([system_digest(origin), content])


def labels(origin: str) -> dict[str, str]:
    """Labels of the image."""
    return {LABEL_RECIPE: digest(origin), LABEL_ORIGIN: origin}


def lay(folder: Path, version: str) -> None:
    """Fill a folder with this package and its libraries.

    Args:
        folder: Absent or empty.
        version: Of the image's Python ("3.11").

    Raises:
        subprocess.CalledProcessError: pip failed; its messages were shown.
    """
    with tempfile.TemporaryDirectory(prefix="verifier-gateway-") as scratch:
        pip = _pip(Path(scratch))
        wheels = Path(scratch) / "wheels"
        # The build's own tools are taken from here where they are here.
        isolated = [] if importlib.util.find_spec("hatchling") is None else ["--no-build-isolation"]
        _run([*pip, "wheel", "--no-deps", *isolated, "--wheel-dir", str(wheels), str(ROOT)])
        machine = platform.machine()
        _run(
            [
                *(*pip, "install", "--no-deps", "--no-compile", "--only-binary=:all:"),
                *("--implementation", "cp", "--python-version", version),
                *(f"--abi={abi}" for abi in (f"cp{version.replace('.', '')}", "abi3", "none")),
                *(f"--platform={name}_{machine}" for name in PLATFORMS),
                *("--target", str(folder), "--requirement", str(HERE / "gateway.txt")),
                *map(str, wheels.glob("*.whl")),
            ]
        )
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for tests in folder.glob("numpy/**/tests"):
        shutil.rmtree(tests)


def _pip(scratch: Path) -> list[str]:
    """A command that is pip: this interpreter's, or one made for the occasion."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([sys.executable, "-m", "venv", str(scratch / "venv")])
    python = scratch / "venv" / "bin" / "python"
    return [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _digest(content: object) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return hashlib.sha256(data).hexdigest()

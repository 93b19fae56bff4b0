"""Unit-test modes: frameworks that run test files with a program among them, one run for all tests.

A mode is a recipe of its own, with a compile step and a run that are ours (`jail/`): the project is
laid out and compiled by `build.py`, the framework is run by `run.py`, and a reporter inside of the
framework says what became of each test. `verifier.engine.unit_tests` sends them, and
`verifier.judging.unit_tests` reads what comes back.
"""

from __future__ import annotations

import functools
from pathlib import Path

from verifier.languages.unit_tests.modes import MODES, Mode

__all__ = ["BUILD_FAULT", "BY_NAME", "FRAMEWORKS", "MODES", "Mode", "beside", "framework"]

_JAIL = Path(__file__).parent / "jail"
_ALIASES = {"unittest": "pytest", "gotest": "go_test", "cargotest": "cargo_test"}
FRAMEWORKS = ("pytest", "unittest", "jest", "junit", "go_test", "cargo_test")
"""Names in data. unittest's tests run apart from the program, or by pytest."""
BY_NAME = ("go_test", "cargo_test")
"""Modes that are told the name of each test."""

BUILD_FAULT = 113
"""Exit code of the compile step where it is its own fault."""


def framework(name: str) -> Mode | None:
    """The mode of a framework, by any spelling ("go test", "Go_Test"); None where there is none."""
    plain = "".join(name.lower().replace("-", "").replace("_", "").split())
    return MODES.get(_ALIASES.get(plain, plain))


@functools.cache
def beside(mode: Mode) -> dict[str, bytes]:
    """What the compile step finds beside the program: name and content."""
    names = ("build.py", "run.py", *mode.beside)
    return {name: (_JAIL / name).read_bytes() for name in names}

"""Python: forked from the warm interpreter, or spawned in `exec` mode."""

from __future__ import annotations

import dataclasses

from verifier.languages.base import COMPILE_LIMITS, Library, Recipe
from verifier.types import Harness

PYTHON = Recipe(
    name="python",
    title="Python",
    family="python",
    packages=("python3",),
    libraries=tuple(
        Library(name, f"python3-{name}")
        for name in (
            *("numpy", "scipy", "pandas", "sympy", "networkx", "sortedcontainers", "pytest"),
        )
    ),
    sandbox_fusion=("python",),
    aliases=(
        "py",
        "py3",
        "python3",
        "python-3",
        *(f"python3.{minor}" for minor in range(6, 16)),
        *(f"python-3.{minor}" for minor in range(6, 16)),
        "cpython",
        "cpython3",
        "ipython",
        "ipython3",
    ),
    source_name="main.py",
    run_harness=Harness.PYTHON,
    # Neither -I nor -E: both would drop the slot's fixed environment (PYTHONHASHSEED). Contest
    # programs print integers of any length, which CPython refuses from 4,300 digits on.
    run_argv=("/usr/bin/python3", "-s", "-X", "int_max_str_digits=0", "/program/main.py"),
    version_argv=("/usr/bin/python3", "--version"),
    self_test="a, b = map(int, input().split())\nprint(a + b)\n",
    memory_marks=(b"MemoryError",),
    stack_overflow="RecursionError, exit code 1",
    notes=(
        "Other versions of Python are other images: the recipe takes the system's `python3`. "
        "numpy, sympy, networkx and sortedcontainers are in the images, scipy and pandas in those "
        "built with `--full`; a program that catches its MemoryError goes on."
    ),
    # A program that a person wrote takes milliseconds; 400 kB of `def f():pass` take a minute.
    compile_limits=dataclasses.replace(COMPILE_LIMITS, cpu_time_s=10.0, wall_time_s=30.0),
)

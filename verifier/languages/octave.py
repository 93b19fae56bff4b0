"""Octave, which reads what is written for MATLAB."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

OCTAVE = Recipe(
    name="octave",
    title="Octave",
    aliases=("matlab", "m"),
    family="science",
    packages=("octave",),
    source_name="main.m",
    run_harness=Harness.EXEC,
    # It has no check without a run: a syntax error is a runtime error.
    compile_argv=("true",),
    outputs=("main.m",),
    run_argv=("octave-cli", "--norc", "--quiet", "/program/main.m"),
    version_argv=("octave-cli", "--version"),
    extra_processes=16,
    self_test='x = sscanf(fgetl(stdin), "%d");\nprintf("%d\\n", sum(x));\n',
    memory_marks=(b"out of memory or dimension too large",),
    stack_overflow="'max_recursion_depth exceeded', exit code 1",
    notes=("A syntax error is a runtime error (exit code 1)."),
)

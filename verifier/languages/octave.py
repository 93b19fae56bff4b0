"""Octave, which reads what is written for MATLAB. Parsing is the compile step."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

# A history that it cannot write is an error on stderr at every end.
_OCTAVE = ("octave-cli", "--norc", "--no-history", "--quiet")
OCTAVE = Recipe(
    name="octave",
    title="Octave",
    aliases=("matlab", "m"),
    family="science",
    packages=("octave",),
    source_name="main.m",
    run_harness=Harness.EXEC,
    compile_argv=(*_OCTAVE, "--eval", "__parse_file__('main.m')"),
    outputs=("main.m",),
    run_argv=(*_OCTAVE, "/program/main.m"),
    version_argv=("octave-cli", "--version"),
    extra_processes=16,
    self_test='x = sscanf(fgetl(stdin), "%d");\nprintf("%d\\n", sum(x));\n',
    memory_marks=(b"out of memory or dimension too large",),
    stack_overflow="'max_recursion_depth exceeded', exit code 1",
    notes=(
        "Calls nest 256 deep; more take `max_recursion_depth(n)` and `max_stack_depth(n)` in the "
        "program."
    ),
)

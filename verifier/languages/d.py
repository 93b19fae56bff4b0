"""D by LDC, the compiler with LLVM; and its unit tests, as Sandbox Fusion's `D_ut` runs them."""

from __future__ import annotations

import dataclasses

from verifier.languages.base import Recipe
from verifier.types import Harness

D = Recipe(
    name="d",
    title="D",
    aliases=("dlang", "ldc", "ldc2", "dmd", "gdc"),
    family="native-more",
    packages=("ldc",),
    source_name="main.d",
    run_harness=Harness.EXEC,
    compile_argv=("ldc2", "-O2", "-release", "-of=main", "main.d"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("ldc2", "--version"),
    # Its linker.
    needs=("gcc",),
    extra_processes=8,
    self_test="import std.stdio;\n\nvoid main() {\n"
    '    int a, b;\n    readf(" %d %d", &a, &b);\n    writeln(a + b);\n}\n',
    memory_marks=(b"core.exception.OutOfMemoryError",),
    notes=("`-release`: contracts and asserts are left out."),
)

D_UT = dataclasses.replace(
    D,
    name="d_ut",
    title="D, unit tests",
    aliases=(),
    written_as="d",
    sandbox_fusion=("D_ut",),
    # Neither -release, which leaves the asserts out, nor -O2: tests are short.
    compile_argv=("ldc2", "-unittest", "-main", "-of=main", "main.d"),
    notes=(
        "The `unittest` blocks are run; without any, `main`. A test that fails is exit code 1, and "
        "a `main` that is missing is added."
    ),
)

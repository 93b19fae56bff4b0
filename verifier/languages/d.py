"""D by LDC, the compiler with LLVM."""

from __future__ import annotations

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

"""C by gcc."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

C = Recipe(
    name="c",
    title="C",
    family="native",
    packages=("gcc", "libc6-dev"),
    aliases=(
        "h",
        "ansic",
        "gcc",
        "clang",
        "c89",
        "c90",
        "c99",
        "c11",
        "c17",
        "c18",
        "c23",
        "gnu99",
        "gnu11",
        "gnu17",
    ),
    source_name="main.c",
    run_harness=Harness.EXEC,
    compile_argv=(
        "gcc",
        "-O2",
        "-std=gnu17",
        "-pipe",
        "-DONLINE_JUDGE",
        "-fmax-errors=10",
        "-o",
        "main",
        "main.c",
        "-lm",
    ),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("gcc", "--version"),
    self_test="#include <stdio.h>\n"
    'int main() { long a, b; scanf("%ld %ld", &a, &b); printf("%ld\\n", a + b); }\n',
)

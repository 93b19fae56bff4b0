"""C by gcc."""

from __future__ import annotations

from verifier.languages.base import Library, Recipe
from verifier.types import Harness

GMP = Library(
    "gmp", "libgmp-dev", "/usr/include/*/gmp.h", r"#define __GNU_MP_VERSION(?:_\w+)?\s+(\d+)"
)
# gmp.h, gmpxx.h, and what of Boost wraps them.
GMP_INCLUDED = rb'(?m)^[ \t]*#[ \t]*include[ \t]*[<"][^>"\n]*\bgmp(?:xx)?\.h'

C = Recipe(
    name="c",
    title="C",
    family="native",
    packages=("gcc", "libc6-dev"),
    libraries=(GMP,),
    linked=((GMP_INCLUDED, ("-lgmp",)),),
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

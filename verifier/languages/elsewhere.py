"""Languages that neither Debian nor its like ships: recipes for images that have the toolchain.

None of them is tried by the tests here: there is nothing to try them with.
"""

from __future__ import annotations

from verifier.languages.base import BIG_COMPILE_LIMITS, Recipe
from verifier.types import Harness

_HOW = (
    "not in Debian: build an image FROM the {image} that its makers publish, with "
    "`/usr/bin/python3` and {program} on the path, and name it with the `image` setting"
)

SWIFT = Recipe(
    name="swift",
    title="Swift",
    aliases=("swiftc", "swift5"),
    family="",
    unpackaged=_HOW.format(image="image of Swift", program="`swiftc`"),
    sandbox_fusion=("swift",),
    source_name="main.swift",
    run_harness=Harness.EXEC,
    compile_argv=("swiftc", "-O", "-o", "main", "main.swift"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("swiftc", "--version"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=8,
    self_test='let p = readLine()!.split(separator: " ").map { Int($0)! }\nprint(p[0] + p[1])\n',
)

JULIA = Recipe(
    name="julia",
    title="Julia",
    aliases=("jl",),
    family="",
    unpackaged=_HOW.format(image="image of Julia", program="`julia`"),
    sandbox_fusion=("julia",),
    source_name="main.jl",
    run_harness=Harness.EXEC,
    compile_argv=("true",),
    outputs=("main.jl",),
    run_argv=("julia", "--startup-file=no", "--history-file=no", "/program/main.jl"),
    version_argv=("julia", "--version"),
    extra_processes=16,
    self_test="println(sum(parse.(Int, split(readline()))))\n",
    memory_marks=(b"OutOfMemoryError",),
    stack_overflow="StackOverflowError, exit code 1",
)

LEAN = Recipe(
    name="lean",
    title="Lean 4",
    aliases=("lean4",),
    family="",
    unpackaged=_HOW.format(image="toolchain of Lean", program="`lean`"),
    sandbox_fusion=("lean",),
    source_name="main.lean",
    run_harness=Harness.EXEC,
    # Elaborates the file, and so checks its proofs.
    compile_argv=("lean", "main.lean"),
    outputs=("main.lean",),
    run_argv=("lean", "--run", "/program/main.lean"),
    version_argv=("lean", "--version"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=16,
    self_test="def main : IO Unit := do\n  let line ← (← IO.getStdin).getLine\n"
    '  IO.println ((line.trim.splitOn " ").map String.toNat!).sum\n',
)

CUDA = Recipe(
    name="cuda",
    title="CUDA",
    aliases=("cu", "nvcc"),
    family="",
    unpackaged=_HOW.format(image="development image of CUDA", program="`nvcc`")
    + "; the sandbox hands no GPU in, so only host code runs",
    sandbox_fusion=("cuda",),
    source_name="main.cu",
    run_harness=Harness.EXEC,
    compile_argv=("nvcc", "-O2", "-o", "main", "main.cu"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("nvcc", "--version"),
    compile_limits=BIG_COMPILE_LIMITS,
    extra_processes=16,
    self_test="#include <cstdio>\n"
    'int main() { long a, b; scanf("%ld %ld", &a, &b); printf("%ld\\n", a + b); }\n',
)

"""R. Parsing is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

R = Recipe(
    name="r",
    title="R",
    aliases=("rscript", "rlang"),
    family="science",
    packages=("r-base-core",),
    sandbox_fusion=("R",),
    source_name="main.R",
    run_harness=Harness.EXEC,
    compile_argv=("Rscript", "--vanilla", "-e", 'invisible(parse("main.R", encoding = "UTF-8"))'),
    outputs=("main.R",),
    # The most that R takes: else `options(expressions = 500000)` ends at 10,000 calls.
    run_argv=("Rscript", "--vanilla", "--max-ppsize=500000", "/program/main.R"),
    version_argv=("Rscript", "--version"),
    extra_processes=8,
    self_test='x <- scan(file("stdin"), quiet = TRUE)\ncat(sum(x), "\\n", sep = "")\n',
    memory_marks=(b"cannot allocate vector of size", b"cannot allocate memory"),
    stack_overflow="'evaluation nested too deeply' or 'node stack overflow', exit code 1",
    notes=(
        'Standard input is `file("stdin")`. Calls nest 5,000 deep; more take '
        "`options(expressions = 500000)` and `compiler::enableJIT(0)` in the program."
    ),
)

"""Bash. `bash -n` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

BASH = Recipe(
    name="bash",
    title="Bash",
    aliases=("sh", "shell", "shellscript"),
    family="python",  # every Debian has it
    packages=("bash",),
    sandbox_fusion=("bash",),
    # An answer in another language ends with how to run it.
    by_tag=False,
    source_name="main.sh",
    run_harness=Harness.EXEC,
    compile_argv=("bash", "-n", "main.sh"),
    outputs=("main.sh",),
    run_argv=("bash", "/program/main.sh"),
    version_argv=("bash", "--version"),
    self_test="read a b\necho $((a + b))\n",
    # Each call numbers FUNCNAME anew: 20,000 deep takes a minute.
    stack_overflow="time limit",
    notes="A script's exit code is that of its last command, so a last test that fails is one.",
)

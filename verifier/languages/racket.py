"""Racket, compiled to its own byte code first: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

RACKET = Recipe(
    name="racket",
    title="Racket",
    aliases=("rkt", "scheme", "scm"),
    family="functional",
    packages=("racket",),
    sandbox_fusion=("racket",),
    source_name="main.rkt",
    run_harness=Harness.EXEC,
    compile_argv=("racket", "-l-", "raco", "make", "main.rkt"),
    outputs=("main.rkt", "compiled/*"),
    run_argv=("racket", "/program/main.rkt"),
    version_argv=("racket", "--version"),
    # An artifact's files are all of one time: the byte code is the source's, and is taken.
    env=(("PLT_COMPILED_FILE_CHECK", "exists"),),
    extra_processes=4,
    self_test="#lang racket\n(displayln (+ (read) (read)))\n",
    memory_marks=(b"out of memory",),
    stack_overflow="memory limit",
    notes=("A program begins with `#lang racket` (or another language that is installed)."),
)

"""Perl. `perl -c` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

PERL = Recipe(
    name="perl",
    title="Perl",
    aliases=("pl", "perl5"),
    family="scripts",
    packages=("perl",),
    sandbox_fusion=("perl",),
    source_name="main.pl",
    run_harness=Harness.EXEC,
    compile_argv=("perl", "-c", "main.pl"),
    outputs=("main.pl",),
    run_argv=("perl", "/program/main.pl"),
    version_argv=("perl", "-e", "print 'perl ', $^V"),
    self_test='my ($a, $b) = split " ", <STDIN>;\nprint $a + $b, "\\n";\n',
    memory_marks=(b"Out of memory!", b"Out of memory in perl:"),
    stack_overflow="memory limit",
)

"""Fortran by gfortran, in free form."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

FORTRAN = Recipe(
    name="fortran",
    title="Fortran",
    aliases=("f90", "f95", "f03", "f08", "gfortran", "fortran90"),
    family="native-more",
    packages=("gfortran",),
    source_name="main.f90",
    run_harness=Harness.EXEC,
    compile_argv=("gfortran", "-O2", "-fmax-errors=10", "-o", "main", "main.f90"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("gfortran", "--version"),
    self_test="program sum\n  integer :: a, b\n  read *, a, b\n"
    "  print '(I0)', a + b\nend program\n",
    memory_marks=(b"bytes: Cannot allocate memory", b"Allocation would exceed memory limit"),
    notes="Free form only.",
)

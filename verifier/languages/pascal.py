"""Pascal by Free Pascal."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

PASCAL = Recipe(
    name="pascal",
    title="Pascal",
    aliases=("pas", "fpc", "freepascal", "objectpascal", "delphi"),
    family="native-more",
    packages=("fp-compiler",),
    source_name="main.pas",
    run_harness=Harness.EXEC,
    compile_argv=("fpc", "-O2", "-v0e", "-omain", "main.pas"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("fpc", "-iV"),
    self_test="var a, b: longint;\nbegin\n  readln(a, b);\n  writeln(a + b);\nend.\n",
    memory_marks=(b"Runtime error 203", b"EOutOfMemory"),
    notes=("A runtime error's number is the exit code (200: division by zero)."),
)

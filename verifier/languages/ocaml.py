"""OCaml's native compiler, with the str, threads and unix libraries."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

OCAML = Recipe(
    name="ocaml",
    title="OCaml",
    aliases=("ml", "ocamlopt"),
    family="functional",
    packages=("ocaml-nox",),
    source_name="main.ml",
    run_harness=Harness.EXEC,
    compile_argv=(
        "ocamlopt",
        "-O3",
        "-w",
        "-a",
        "-color",
        "never",
        "-I",
        "+threads",
        "unix.cmxa",
        "threads.cmxa",
        "str.cmxa",
        "-o",
        "main",
        "main.ml",
    ),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("ocamlopt", "-version"),
    # Its linker.
    needs=("gcc",),
    self_test='let () = Scanf.scanf " %d %d" (fun a b -> Printf.printf "%d\\n" (a + b))\n',
    memory_marks=(b"exception Out of memory", b"exception Out_of_memory"),
    stack_overflow="Stack_overflow, exit code 2",
)

"""Rust by rustc, edition 2021: the standard library alone, no crates."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.languages.calls.rust import RUST_CALLS
from verifier.types import Harness

RUST = Recipe(
    name="rust",
    title="Rust",
    aliases=("rs", "rustc", "rust2021", "rust-2021"),
    family="rust",
    packages=("rustc",),
    sandbox_fusion=("rust",),
    source_name="main.rs",
    run_harness=Harness.EXEC,
    compile_argv=("rustc", "--edition", "2021", "-O", "--color", "never", "-o", "main", "main.rs"),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("rustc", "--version"),
    # Its linker.
    needs=("gcc",),
    # LLVM's threads.
    extra_processes=0,
    self_test="use std::io::*;\n\nfn main() {\n    let mut text = String::new();\n"
    "    stdin().read_to_string(&mut text).unwrap();\n"
    "    let sum: i64 = text.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum();\n"
    '    println!("{}", sum);\n}\n',
    memory_marks=(b"memory allocation of ",),
    calls=RUST_CALLS,
    stack_overflow="SIGABRT",
    notes=("A panic is exit code 101. `-O`: no overflow checks."),
)

"""Lua 5.4. `luac -p` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

LUA = Recipe(
    name="lua",
    title="Lua",
    aliases=("lua5", "lua5.4", "luac"),
    family="scripts",
    packages=("lua5.4",),
    sandbox_fusion=("lua",),
    source_name="main.lua",
    run_harness=Harness.EXEC,
    compile_argv=("luac5.4", "-p", "main.lua"),
    outputs=("main.lua",),
    run_argv=("lua5.4", "/program/main.lua"),
    version_argv=("lua5.4", "-v"),
    self_test='local a, b = io.read("n", "n")\nprint(a + b)\n',
    memory_marks=(b"not enough memory",),
    stack_overflow="'stack overflow', exit code 1",
)

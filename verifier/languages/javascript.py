"""JavaScript by Node.js. `node --check` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

JAVASCRIPT = Recipe(
    name="javascript",
    aliases=("js", "node", "nodejs", "node.js", "ecmascript", "es6", "mjs", "cjs"),
    source_name="main.js",
    run_harness=Harness.EXEC,
    compile_argv=("node", "--check", "main.js"),
    outputs=("main.js",),
    run_argv=("node", "/program/main.js"),
    version_argv=("node", "--version"),
    # Node 20 starts 10 threads beside the main one.
    extra_processes=16,
)

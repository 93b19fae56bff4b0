"""JavaScript by Node.js. `node --check` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

# V8 reads the machine's memory and takes a part of it; its stack is 1 MB, which contest programs
# recurse beyond (the thread has 512 MB, or the memory limit).
NODE = ("node", "--max-old-space-size={heap_mb}", "--stack-size=65500")
HEAP_MARKS = (b"JavaScript heap out of memory", b"Reached heap limit")

JAVASCRIPT = Recipe(
    name="javascript",
    title="JavaScript",
    family="web",
    packages=("nodejs",),
    sandbox_fusion=("nodejs",),
    aliases=("js", "node", "nodejs", "node.js", "ecmascript", "es6", "mjs", "cjs"),
    source_name="main.js",
    run_harness=Harness.EXEC,
    compile_argv=("node", "--check", "main.js"),
    outputs=("main.js",),
    run_argv=(*NODE, "/program/main.js"),
    version_argv=("node", "--version"),
    self_test="const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
    "console.log(a + b);\n",
    memory_marks=HEAP_MARKS,
    stack_overflow="RangeError, exit code 1",
    notes="Heap of 3/4 of the memory limit, stack of 64 MB.",
    # Node 20 starts 10 threads beside the main one.
    extra_processes=16,
)

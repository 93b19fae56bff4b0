"""JavaScript by Node.js. `node --check` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Library, Recipe
from verifier.languages.calls.javascript import javascript_calls
from verifier.types import Harness

# Node writes to a pipe without waiting for its reader: what a program prints piles up in its
# memory, is lost at `process.exit`, and is EAGAIN to `fs.writeSync`. A worker's streams have no
# handle.
_BLOCKING = "for (const s of [process.stdout, process.stderr]) s._handle?.setBlocking?.(true);\n"
_PRELOADED = "blocking.js"

# V8 reads the machine's memory and takes a part of it; its stack is 1 MB, which contest programs
# recurse beyond (the thread has 512 MB, or the memory limit).
NODE = (
    "node",
    "--max-old-space-size={heap_mb}",
    "--stack-size=65500",
    f"--require=/program/{_PRELOADED}",
)
RUN_ARGV = (*NODE, "/program/main.js")
OUTPUTS = ("main.js", _PRELOADED)
HEAP_MARKS = (
    b"JavaScript heap out of memory",
    b"Reached heap limit",
    b"ERR_WORKER_OUT_OF_MEMORY",
    b"Array buffer allocation failed",
)
# Where Debian's own node looks for libraries; another one is told.
NODE_ENV = (("NODE_PATH", "/usr/share/nodejs"),)
NODE_LIBRARIES = tuple(
    Library(name, package, f"/usr/share/nodejs/{name}/package.json", r'"version": "([^"]+)"')
    for name, package in (("lodash", "node-lodash"), ("jest", "jest"))
)


def compile_argv(*compiler: str) -> tuple[str, ...]:
    """The compile step: the compiler, which leaves `main.js`, and what every run loads first."""
    script = f"""printf %s "$0" >{_PRELOADED}; exec "$@\""""
    return ("sh", "-c", script, _BLOCKING, *compiler)


JAVASCRIPT = Recipe(
    name="javascript",
    title="JavaScript",
    family="web",
    packages=("nodejs",),
    libraries=NODE_LIBRARIES,
    env=NODE_ENV,
    sandbox_fusion=("nodejs",),
    aliases=("js", "node", "nodejs", "node.js", "ecmascript", "es6", "mjs", "cjs"),
    source_name="main.js",
    run_harness=Harness.EXEC,
    compile_argv=compile_argv("node", "--check", "main.js"),
    outputs=OUTPUTS,
    run_argv=RUN_ARGV,
    version_argv=("node", "--version"),
    calls=javascript_calls(NODE, OUTPUTS),
    self_test="const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
    "console.log(a + b);\n",
    memory_marks=HEAP_MARKS,
    stack_overflow="RangeError, exit code 1",
    notes="Heap of 3/4 of the memory limit, stack of 64 MB.",
    # Node 20 starts 10 threads beside the main one.
    extra_processes=16,
)

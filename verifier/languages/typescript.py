"""TypeScript: made JavaScript without a look at its types, as tsx and esbuild do.

A type check reads the library's declarations first: 4 s of CPU for a program of one line, against
0.4 s. So a syntax error is a COMPILE_ERROR and a type error is none.
"""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.languages.calls.javascript import typescript_calls
from verifier.languages.javascript import (
    HEAP_MARKS,
    NODE,
    NODE_ENV,
    NODE_LIBRARIES,
    OUTPUTS,
    RUN_ARGV,
    compile_argv,
)
from verifier.types import Harness

_BUILD = r"""
const fs = require('fs');
const places = ['/usr/share/nodejs', '/usr/lib/node_modules', '/usr/local/lib/node_modules'];
const ts = require(places.map(p => p + '/typescript').find(p => fs.existsSync(p)) || 'typescript');
const fileName = 'main.ts';
const made = ts.transpileModule(fs.readFileSync(fileName, 'utf8'), {
  fileName,
  reportDiagnostics: true,
  compilerOptions: {
    target: ts.ScriptTarget.ES2020,
    module: ts.ModuleKind.CommonJS,
    esModuleInterop: true,
    experimentalDecorators: true,
  },
});
const wrong = made.diagnostics.filter(d => d.category === ts.DiagnosticCategory.Error);
if (wrong.length) {
  console.error(ts.formatDiagnostics(wrong.slice(0, 10), {
    getCanonicalFileName: name => name, getCurrentDirectory: () => '', getNewLine: () => '\n',
  }));
  process.exit(1);
}
fs.writeFileSync('main.js', made.outputText);
"""

TYPESCRIPT = Recipe(
    name="typescript",
    title="TypeScript",
    aliases=("ts", "tsx", "tsc", "mts", "cts", "ts-node"),
    family="web",
    packages=("nodejs", "node-typescript"),
    libraries=NODE_LIBRARIES,
    env=NODE_ENV,
    sandbox_fusion=("typescript",),
    source_name="main.ts",
    run_harness=Harness.EXEC,
    compile_argv=compile_argv("node", "-e", _BUILD),
    outputs=OUTPUTS,
    run_argv=RUN_ARGV,
    needs=("node", "tsc"),
    # `tsc --version` loads all of it, for 0.3 s.
    version_argv=(
        "sed",
        "-n",
        r's/.*"version": "\(.*\)".*/TypeScript \1/p',
        "/usr/share/nodejs/typescript/package.json",
    ),
    extra_processes=16,
    calls=typescript_calls(NODE, OUTPUTS),
    self_test="declare const require: any;\n"
    "const [a, b]: number[] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
    "console.log(a + b);\n",
    memory_marks=HEAP_MARKS,
    stack_overflow="RangeError, exit code 1",
    notes=("Types are dropped, not checked: only a syntax error is a compile error."),
)

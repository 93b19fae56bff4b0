"""TypeScript: made JavaScript without a look at its types, as tsx and esbuild do.

A type check reads the library's declarations first: 4 s of CPU for a program of one line, against
0.4 s. So a syntax error is a COMPILE_ERROR and a type error is none.
"""

from __future__ import annotations

from verifier.languages.base import STARTS, Recipe
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
const vm = require('vm');
const places = ['/usr/share/nodejs', '/usr/lib/node_modules', '/usr/local/lib/node_modules'];
const home = places.map(p => p + '/typescript').find(p => fs.existsSync(p)) || 'typescript';

// V8 takes code that it compiled before, if its version, its flags and the text's length are the
// same; the name has the version of the text. Else it compiles as ever.
function load(starts) {
  if (!fs.existsSync(home)) return require(home);
  const kept = `${starts}/typescript-${require(home + '/package.json').version}.v8`;
  if (!fs.existsSync(kept)) return require(home);
  const filename = home + '/lib/typescript.js';
  const text = require('module').wrap(fs.readFileSync(filename, 'utf8'));
  const script = new vm.Script(text, { filename, cachedData: fs.readFileSync(kept) });
  const made = { exports: {} };
  script.runInThisContext()(made.exports, require, made, filename, home + '/lib');
  return made.exports;
}

const ts = load('STARTS');
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
""".replace("STARTS", STARTS)

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

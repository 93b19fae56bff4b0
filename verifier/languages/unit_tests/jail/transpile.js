// Makes node's modules of the TypeScript and the ECMAScript modules below a folder, in place.
'use strict';
const fs = require('fs');
const path = require('path');
const places = ['/usr/share/nodejs', '/usr/lib/node_modules', '/usr/local/lib/node_modules'];
const ts = require(places.map(p => p + '/typescript').find(p => fs.existsSync(p)) || 'typescript');
const [root, must] = process.argv.slice(2);

// `jest.mock` goes before what it mocks is required.
const isMock = node => ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)
  && /^jest\.(un)?mock$/.test(node.expression.expression.getText());
const hoist = () => file => {
  const mocks = file.statements.filter(isMock);
  const rest = file.statements.filter(node => !isMock(node));
  return ts.factory.updateSourceFile(file, [...mocks, ...rest]);
};

function files(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const name = path.join(folder, entry.name);
    return entry.isDirectory() ? files(name) : [name];
  });
}

for (const name of files(root)) {
  if (!/\.([cm]?[jt]s|[jt]sx)$/.test(name)) continue;
  const source = fs.readFileSync(name, 'utf8');
  const made = ts.transpileModule(source, {
    fileName: name.replace(/\.[cm]([jt])s$/, '.$1s'),
    reportDiagnostics: true,
    transformers: { before: [hoist] },
    compilerOptions: { target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS,
      jsx: ts.JsxEmit.React, esModuleInterop: true, allowJs: true, experimentalDecorators: true },
  });
  const wrong = made.diagnostics.filter(d => d.category === ts.DiagnosticCategory.Error);
  if (wrong.length && path.relative(root, name) === must) {
    console.error(ts.formatDiagnostics(wrong.slice(0, 10), {
      getCanonicalFileName: n => n, getCurrentDirectory: () => '', getNewLine: () => '\n',
    }));
    process.exit(1);
  }
  const target = name.replace(/\.([cm]?[jt]s|[jt]sx)$/, '.js');
  if (wrong.length) continue; // left as it is: jest says what is wrong with it
  fs.writeFileSync(target, made.outputText);
  if (target !== name) fs.unlinkSync(name);
}

// A reporter of jest's that writes one record a test; see run.py. Made before any test file is read.
'use strict';
const fs = require('fs');
const path = require('path');

const nonce = fs.readFileSync(8, 'utf8');
const write = fs.writeSync.bind(fs);
fs.closeSync(8);

class Reporter {
  say(record) {
    write(9, nonce + JSON.stringify(record) + '\n');
  }

  onTestCaseResult(test, result) {
    const file = path.relative(process.cwd(), test.path);
    const name = [...result.ancestorTitles, result.title].join(' > ');
    const messages = result.failureMessages || [];
    const details = (result.failureDetails || [])[0] || {};
    const asserts = details.matcherResult !== undefined || details.code === 'ERR_ASSERTION'
      || /expect\(|AssertionError|expect\.assertions/.test(messages[0] || '');
    let status = result.status;
    if (status === 'failed') status = asserts ? 'failed' : 'error';
    else if (status !== 'passed') status = 'skipped';
    this.say({ file, name, status, seconds: (result.duration || 0) / 1000,
      message: (messages[0] || '').replace(/\u001b\[[0-9;]*m/g, '').slice(0, 4000) });
  }

  onTestResult(test, result) {
    if (result.testExecError || (result.failureMessage && !result.testResults.length)) {
      this.say({ container: '', file: path.relative(process.cwd(), test.path), status: 'error',
        message: String(result.failureMessage || result.testExecError.message || '')
          .replace(/\u001b\[[0-9;]*m/g, '').slice(0, 4000) });
    }
    // What was skipped has no event of its own.
    for (const one of result.testResults) {
      if (one.status !== 'passed' && one.status !== 'failed') this.onTestCaseResult(test, one);
    }
  }
}

module.exports = Reporter;

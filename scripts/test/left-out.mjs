// A reporter for Jest: tells which tests were left out, because this machine lacks what they need. On a CI server that
// is a failure: such a test has shown nothing.
import { relative } from 'node:path';

export default class LeftOut {
  #error;

  onRunComplete(_contexts, { numPendingTests, testResults }) {
    if (process.env['SLUICE_PART'] || numPendingTests === 0) return;
    const files = testResults.filter((file) => file.numPendingTests > 0).map(({ testFilePath }) => testFilePath);
    const message = `${numPendingTests} tests were LEFT OUT: ${files.map((file) => relative('', file)).join(', ')}`;
    console.error(message);
    if (process.env['CI']) this.#error = new Error(message);
  }

  getLastError() {
    return this.#error;
  }
}

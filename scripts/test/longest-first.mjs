// The order of test files: the longest first, so that no worker is left alone with one at the end. Jest would know their times only
// from an earlier run on the same machine. `SLUICE_DURATIONS=1 npm test` records them, in durations.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const recorded = new URL('durations.json', import.meta.url);
/** Files that take less, in seconds, come in any order. */
const SHORT = 5;
const durations = JSON.parse(readFileSync(recorded, 'utf8'));
const secondsOf = (path) => durations[relative(root, path)] ?? 0;

export default class LongestFirst {
  sort(tests) {
    return tests.toSorted((a, b) => secondsOf(b.path) - secondsOf(a.path));
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults(_tests, { testResults }) {
    if (!process.env.SLUICE_DURATIONS) return;
    const taken = testResults
      .map(({ testFilePath, perfStats }) => [relative(root, testFilePath), Math.round(perfStats.runtime / 1000)])
      .filter(([, seconds]) => seconds >= SHORT)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    writeFileSync(recorded, `${JSON.stringify(Object.fromEntries(taken), null, 2)}\n`);
  }
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What was measured, by group; groups that were not are left out. */
export function readResults(folder) {
  const results = {};
  for (const group of ['memory', 'redis', 'http', 'scale']) {
    const path = join(folder, `${group}.json`);
    if (existsSync(path)) results[group] = JSON.parse(readFileSync(path, 'utf8'));
  }
  return results;
}

/** A line a row, so that a change of one shows as one. */
export function writeResults(folder, { rows, ...about }) {
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n');
  const head = JSON.stringify(about, null, 2).slice(0, -2);
  writeFileSync(join(folder, `${about.group}.json`), `${head},\n  "rows": [\n${lines}\n  ]\n}\n`);
}

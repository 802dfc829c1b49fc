import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The results by group, without groups that were not measured. */
export function readResults(folder) {
  const results = {};
  for (const group of ['memory', 'redis', 'http', 'scale', 'service']) {
    const path = join(folder, `${group}.json`);
    if (existsSync(path)) results[group] = JSON.parse(readFileSync(path, 'utf8'));
  }
  return results;
}

/** One line per row, so that diffs are small. */
export function writeResults(folder, { rows, ...about }) {
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n');
  const head = JSON.stringify(about, null, 2).slice(0, -2);
  writeFileSync(join(folder, `${about.group}.json`), `${head},\n  "rows": [\n${lines}\n  ]\n}\n`);
}

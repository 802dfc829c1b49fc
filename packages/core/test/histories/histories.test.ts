import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkHistory } from './check.ts';
import { live } from './run.ts';

/** For a soak: SLUICE_HISTORY_DECISIONS=1000000. Kept histories say what went wrong. */
const wanted = Number(process.env['SLUICE_HISTORY_DECISIONS'] ?? 1);
const forMs = wanted > 1 ? 30_000 : 2500;

describe.each(['server', 'cluster'] as const)('several processes on a %s, with two numbers of each policy', (where) => {
  it(
    'never allow too much, deny without need, or wait too long, while servers, clocks and processes fail',
    async () => {
      const sum = { decisions: 0, allowed: 0, denied: 0, unknown: 0 };
      while (sum.decisions < wanted) {
        const history = await live(where, forMs, wanted > 1 ? 4 : 10);
        const { defects, ...counts } = checkHistory(history);
        const all = [...history.broken, ...defects];
        if (all.length > 0)
          writeFileSync(join(tmpdir(), `history-${String(Date.now())}.json`), JSON.stringify(history));
        expect(all).toEqual([]);
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
        if (wanted > 1) process.stdout.write(`${where}: ${JSON.stringify(sum)}\n`);
      }
      expect(sum.allowed).toBeGreaterThan(100);
      expect(sum.denied).toBeGreaterThan(100);
    },
    Math.max(wanted * 60, 60_000),
  );
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases, testSeed } from '@sluice/testkit';
import { checkHistory, type Verdict } from './check-history.ts';
import type { History } from './history.ts';
import { planOf } from './plan.ts';
import { run } from './run.ts';

/** For a longer run: SLUICE_HISTORY_SEEDS=200 SLUICE_HISTORY_SECONDS=30. For a single seed: SLUICE_SEED=<seed> SLUICE_HISTORY_SEEDS=1. */
const count = Number(process.env['SLUICE_HISTORY_SEEDS'] ?? cases(14));
const seconds = Number(process.env['SLUICE_HISTORY_SECONDS'] ?? 3);
const AT_ONCE = 4;

const first = testSeed(1);
const seeds = Array.from({ length: count }, (_, i) => first + i);
const verdicts = new Map<number, Verdict | Error>();

async function lived(seed: number): Promise<History | Error> {
  try {
    return await run(planOf(seed, seconds * 1000));
  } catch (error) {
    return error as Error;
  }
}

function verdictOf(history: History | Error): Verdict | Error {
  try {
    return history instanceof Error ? history : checkHistory(history);
  } catch (error) {
    return error as Error;
  }
}

/** Keeps the history, because it cannot be reproduced. */
function keep(seed: number, history: History): void {
  const file = join(tmpdir(), `sluice-history-${String(seed)}.json`);
  writeFileSync(file, JSON.stringify(history));
  process.stdout.write(`seed ${String(seed)}: the history is in ${file}\n`);
}

beforeAll(
  async () => {
    for (let i = 0; i < seeds.length; i += AT_ONCE) {
      const together = seeds.slice(i, i + AT_ONCE);
      const histories = await Promise.all(together.map(lived));
      for (const [at, seed] of together.entries()) {
        const verdict = verdictOf(histories[at] as History);
        verdicts.set(seed, verdict);
        if (!(verdict instanceof Error) && verdict.defects.length > 0) keep(seed, histories[at] as History);
      }
    }
  },
  300_000 + ((count * seconds * 1000) / AT_ONCE) * 4,
);

describe('the history of several processes while server, connections and processes fail', () => {
  it.each(seeds)('is explained in every number by policies performed one call after the other: seed %i', (seed) => {
    expect(verdicts.get(seed)).toMatchObject({ defects: [] });
  });

  it('contains calls of unknown end and losses of memory, and is explained almost throughout', () => {
    const sum = (field: 'unknown' | 'cuts' | 'explained' | 'undecided'): number =>
      [...verdicts.values()].reduce((total, one) => total + (one instanceof Error ? 0 : one[field]), 0);

    const few = count < 20; // a single seed may have none
    expect(sum('unknown')).toBeGreaterThanOrEqual(few ? 0 : 1);
    expect(sum('cuts')).toBeGreaterThanOrEqual(few ? 0 : 1);
    expect(sum('undecided')).toBeLessThan(few ? Infinity : sum('explained') / 10);
  });
});

describe('the history of processes that make many calls in one turn', () => {
  it.each([1, 2, 3])('is explained as well, while the server forgets scripts: seed %i', async (seed) => {
    const flushed = Array.from({ length: 8 }, () => ({ afterMs: 200, fault: { what: 'script flush' as const } }));
    // The server is never away: no call ends in time without an answer, on a busy machine either.
    const history = await run({
      ...planOf(seed, 0),
      faults: flushed,
      together: 16,
      timeoutMs: 10_000,
      leastCalls: 200,
    });

    const verdict = checkHistory(history);

    expect(verdict).toMatchObject({ defects: [], undecided: 0 });
    expect(verdict.explained).toBeGreaterThan(100);
  });
});

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { cases, fakeClock, memory, useRedis, virtualRedisStore } from '@sluice/testkit';
import type { FakeClock } from '@sluice/testkit';
import type { Store } from '@sluice/core';
import { Player } from './player.ts';
import { readTraces, type Step, type Trace } from './read-traces.ts';
import { store, type Stored } from './stored.ts';

const redis = useRedis();
const traces = readTraces();
/** Traces that are played at the same time. */
const TOGETHER = 50;

/** The first step of each trace that is answered otherwise than it was recorded. */
async function differences(
  played: readonly Trace[],
  storeOf: (clock: FakeClock, seed: number) => Store,
): Promise<readonly object[]> {
  const found: object[] = [];
  for (let i = 0; i < played.length; i += TOGETHER) {
    const different = await Promise.all(played.slice(i, i + TOGETHER).map((trace) => difference(trace, storeOf)));
    found.push(...different.flatMap((one) => one ?? []));
  }
  return found;
}

async function difference(
  trace: Trace,
  storeOf: (clock: FakeClock, seed: number) => Store,
): Promise<object | undefined> {
  const clock = fakeClock();
  const player = new Player(trace, storeOf(clock, trace.seed), clock);
  for (const [number, recorded] of trace.steps.entries()) {
    const answered: Step = await player.play(recorded);
    if (!isDeepStrictEqual(answered, recorded)) return { seed: trace.seed, number, answered, recorded };
  }
  await player.close();
  return undefined;
}

describe('the recorded traces', () => {
  it('are three thousand, and as many seeds', () => {
    expect(new Set(traces.map(({ seed }) => seed)).size).toBe(3_000);
  });

  it('are answered in memory in every figure as they were recorded', async () => {
    expect(await differences(traces, (clock) => memory.store(clock))).toEqual([]);
  });

  it('are answered by Redis in every figure as they were recorded', async () => {
    const some = traces.slice(0, cases(600));

    const found = await differences(some, (clock, seed) =>
      virtualRedisStore(redis.client, clock, { prefix: `sluice:trace-${String(seed)}` }, 0),
    );

    expect(found).toEqual([]);
  });
});

describe('the recorded values', () => {
  const recorded = readFileSync(new URL('stored-values.json', import.meta.url), 'utf8');

  it.each(JSON.parse(recorded) as readonly Stored[])('are what Redis holds: $name', async ({ keys, ...scenario }) => {
    await redis.admin.flushall();

    expect(await store(redis.admin, 'sluice', scenario)).toEqual(keys);
  });
});

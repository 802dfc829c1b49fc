import { describe, expect, it } from '@jest/globals';
import { fixedMembership } from '@sluice/old-split';
import { fixedWindow, slidingWindow, silenceWarnings, type Policy } from '@sluice/old-core';
import { createSplitStore } from '../src/split-store.ts';
import { lines, testEnforcer } from '@sluice/testkit';
import { NOON_MS } from './manual-membership.ts';

silenceWarnings('SLUICE_SPLIT_SHARE_ZERO');

/** A quarter of a second after noon. */
const clocks = { monotonicMs: () => 5000, dateMs: () => NOON_MS + 250 };

/** One of four instances, counted from 0. */
function enforcerOf(index: number, policy: Policy) {
  const membership = fixedMembership({ instances: 4, index });
  return testEnforcer({ policy, store: createSplitStore({ membership }, clocks), onStoreError: 'throw' });
}

describe('the header fields of a limit of ten that is split among four', () => {
  const perMinute = fixedWindow({ limit: 10, window: '1m', align: 'clock' });

  it('report the whole limit, and what remains of the share of this instance', async () => {
    expect(lines(await enforcerOf(0, perMinute)())).toEqual([
      'RateLimit-Policy: "default";q=10;w=60',
      'RateLimit: "default";r=2;t=60',
    ]);
    expect(lines(await enforcerOf(3, perMinute)())).toEqual([
      'RateLimit-Policy: "default";q=10;w=60',
      'RateLimit: "default";r=1;t=60',
    ]);
  });

  it('report to a denied client when this instance allows again', async () => {
    const enforce = enforcerOf(3, perMinute);
    await enforce();
    await enforce();

    const answer = await enforce();

    expect(answer.denial?.status).toBe(429);
    expect(lines(answer)).toEqual([
      'RateLimit-Policy: "default";q=10;w=60',
      'RateLimit: "default";r=0;t=60',
      'Cache-Control: no-store',
      'Retry-After: 60',
    ]);
  });
});

describe('the header fields of a limit of which nothing is left for this instance', () => {
  it.each([
    ['fixedWindow', fixedWindow({ limit: 3, window: '1m', align: 'clock' })],
    ['slidingWindow', slidingWindow({ limit: 3, window: '1m' })],
  ])('report no time to come again, by %s', async (_name, policy) => {
    const answer = await enforcerOf(3, policy)();

    expect(answer.denial?.status).toBe(429);
    expect(lines(answer)).toEqual([
      'RateLimit-Policy: "default";q=3;w=60',
      'RateLimit: "default";r=0',
      'Cache-Control: no-store',
    ]);
  });
});

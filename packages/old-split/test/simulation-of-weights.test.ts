import { describe, expect, it } from '@jest/globals';
import { silenceWarnings } from '@sluice/old-core';
import { cases, testSeed } from '@sluice/testkit';
import { worldsOfExcess, worldsUnsettled } from './simulation/schedules.ts';

silenceWarnings('SLUICE_SPLIT_SHARE_ZERO');

/** The other half: see simulation.test.ts. */
const SEED = testSeed(100_001);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(240)) / 2;
const HEAVIEST = 100;

describe('instances of very different weights that come and go, and live through the same', () => {
  it('allow together no more than the limit at any time', async () => {
    expect(await worldsOfExcess(SEED, 0.9 * WORLDS, HEAVIEST)).toEqual([]);
  });

  // The share of a bucket whose lightest member is that light is due in hours.
  it('together have all of the limit when nothing has changed for the time that windows need', async () => {
    const kinds = ['fixed', 'sliding'] as const;

    expect(await worldsUnsettled(SEED + 0.9 * WORLDS, 0.1 * WORLDS, HEAVIEST, kinds)).toEqual([]);
  });
});

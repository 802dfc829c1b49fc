import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import { silenceWarnings } from '../../src/warnings.ts';
import { livePolling } from './worlds/polled-world.ts';

silenceWarnings('SLUICE_UNIT_MISSING');

/** A longer search: SLUICE_WORLDS=2000 SLUICE_SEED=... */
const SEED = testSeed(1);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(160)) / 2;

const seeds = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => SEED + i);

describe('instances that poll a registry', () => {
  it('allow together no more than the limit, if it changes at most once in ttlMs, and is late, away and empty', async () => {
    for (const seed of seeds(WORLDS)) {
      const world = await livePolling(seed);

      expect({ seed, excess: world.excess() }).toEqual({ seed, excess: [] });
    }
  });

  it('have all of the limit again some time after the last trouble', async () => {
    for (const seed of seeds(WORLDS / 5)) {
      const world = await livePolling(seed);
      await world.heal();
      const allowed = [world.grabAll('fixed', 'fresh'), world.grabAll('sliding', 'fresh')];

      expect({ seed, allowed }).toEqual({ seed, allowed: [world.plan.units, world.plan.units] });
    }
  });
});

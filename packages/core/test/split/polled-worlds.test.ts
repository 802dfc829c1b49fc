import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import { silenceWarnings } from '../../src/index.ts';
import { excessAfterCalm, excessAtAnyTime, excessOfInstances } from './worlds/polled-laws.ts';
import { heal, live } from './worlds/polled-schedules.ts';
import type { RegistryWorld } from './worlds/polled-world.ts';

silenceWarnings('SLUICE_SPLIT_SHARE_ZERO', 'SLUICE_UNIT_MISSING');

/** A longer search: SLUICE_WORLDS=2000 SLUICE_SEED=... */
const SEED = testSeed(1);
const WORLDS = Math.ceil(Number(process.env['SLUICE_WORLDS'] ?? cases(160)) / 2);

type Law = (world: RegistryWorld) => readonly unknown[];

async function broken(isCalm: boolean, ...laws: readonly Law[]): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (let seed = SEED; seed < SEED + WORLDS; seed++) {
    const world = await live(seed, isCalm);
    const excess = laws.flatMap((law) => law(world));
    if (excess.length > 0) found.push({ seed, plan: world.plan, excess: excess.slice(0, 3) });
  }
  return found;
}

describe('instances that poll a registry, which is late, away, empty, and changes at most once in ttlMs', () => {
  it('allow together no more than the limit at any time', async () => {
    expect(await broken(true, excessAtAnyTime, excessOfInstances)).toEqual([]);
  });

  it('have all of the limit again some time after the last trouble', async () => {
    for (let seed = SEED; seed < SEED + WORLDS / 10; seed++) {
      const world = await live(seed, true);
      if (world.live.length === 0) world.start();
      await heal(world);

      const allowed = [world.grabAll('fixed', 'fresh'), world.grabAll('sliding', 'fresh')];

      expect({ seed, allowed }).toEqual({ seed, allowed: [world.plan.units, world.plan.units] });
    }
  });
});

describe('instances that poll a registry, which flaps and lies as well', () => {
  it('allow each no more than its smallest share by its answers, and together the limit after each calm', async () => {
    expect(await broken(false, excessOfInstances, excessAfterCalm)).toEqual([]);
  });
});

import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { fixedWindow, type NamedPolicy } from '@sluice/old-core';
import { namePolicies } from '@sluice/old-core/spi';
import type { Tally } from './load.ts';

const [{ algorithm }] = namePolicies(fixedWindow({ limit: 1, window: 1 }), 'any') as [NamedPolicy];

/** The units of fixed windows that a server holds, by subject: as it has them stored. */
export async function unitsIn(admin: Redis): Promise<Map<string, number>> {
  const units = new Map<string, number>();
  for (const key of await admin.keys('sluice:*')) {
    const subject = /\{(.*)\}/.exec(key)?.[1] ?? key;
    const state = algorithm.decode((await admin.get(key)) ?? '') as { readonly used: number } | undefined;
    if (state !== undefined) units.set(subject, state.used);
  }
  return units;
}

/**
 * Compares the allowed units with those that a failover lost, and returns the lost units.
 *
 * @param kept - The units on the replica when its primary ended: subjects missing from it have lost nothing.
 * @param held - Its units in the end, when every key is denied.
 */
export function expectAccounted(
  tallies: ReadonlyMap<string, Tally>,
  kept: ReadonlyMap<string, number>,
  held: ReadonlyMap<string, number>,
  limit: number,
): number {
  let allLost = 0;
  for (const [subject, { before, after, local }] of tallies) {
    const keptUnits = kept.get(subject) ?? before;
    const lost = Math.max(before - keptUnits, 0);
    allLost += lost;
    const report =
      `${subject}: ${String(before)} allowed before and ${String(after)} after; the replica had kept ${String(keptUnits)}, ` +
      `so ${String(lost)} were lost, and holds ${String(held.get(subject))} in the end; ${String(local)} allowed locally`;
    expect([report, before + after <= limit + lost]).toEqual([report, true]);
    expect([report, keptUnits + after <= limit]).toEqual([report, true]);
    expect([report, held.get(subject)]).toEqual([report, limit]);
    expect([report, local <= limit]).toEqual([report, true]);
  }
  return allLost;
}

/** The keys that never expire. */
export async function immortalKeys(admin: Redis): Promise<string[]> {
  const keys = await admin.keys('*');
  const expiries = await Promise.all(keys.map((key) => admin.pttl(key)));
  return keys.filter((_, i) => expiries[i] === -1);
}

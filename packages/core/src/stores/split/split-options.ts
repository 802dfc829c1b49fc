import { PolicyError, shown } from '../../errors.ts';
import { LONGEST_TIMEOUT_MS } from '../deadline.ts';
import { checkInstances } from './fixed-membership.ts';
import type { Membership } from './membership.ts';

/** @throws PolicyError for what is no membership. */
export function checkMembership(membership: unknown): void {
  if (typeof membership === 'number') {
    checkInstances(membership, 'membership');
    return;
  }
  const { id, ttlMs, join } = (membership ?? {}) as Partial<Membership>;
  if (typeof id === 'string' && typeof ttlMs === 'number' && ttlMs > 0 && typeof join === 'function') return;
  throw new PolicyError(
    'membership',
    `membership must be redisMembership(client), fixedMembership({ instances, index }), an object with id, ttlMs and join, or a number of instances, got ${shown(membership)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** @throws PolicyError for no time, or one so short that somebody would still act by what was before. */
export function checkGrace(graceMs: unknown, ttlMs: number): void {
  const least = ttlMs === Infinity ? 0 : Math.floor(ttlMs) + 1;
  if (Number.isInteger(graceMs) && Number(graceMs) >= least && Number(graceMs) <= LONGEST_TIMEOUT_MS) return;
  throw new PolicyError(
    'graceMs',
    `graceMs must be a whole number of milliseconds from ${String(least)} (more than the membership's ttlMs, for so long an instance goes on by what it was told) to ${String(LONGEST_TIMEOUT_MS)}, got ${shown(graceMs)}`,
    'SLUICE_OPTION_INVALID',
  );
}

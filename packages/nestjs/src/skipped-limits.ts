import { PolicyError } from '@sluice/core';
import type { RequestLimiter } from '@sluice/core/http';
import { shown } from '@sluice/core/spi';

/** All limits of a place, or some of them. */
export type NestLimits = ConstructorParameters<typeof RequestLimiter>[0][number];

/**
 * Removes the limits that `@SkipRateLimit()` skips.
 *
 * @param known - The limits that it may name, including those that the class has skipped.
 * @param skipped - Names of limiters, of entries of `limits`, or of single policies; none for all.
 * @throws PolicyError for a name that no limit has there.
 */
export function leaveOut(
  limits: readonly NestLimits[],
  known: readonly NestLimits[],
  skipped: readonly string[] | undefined,
  where: string,
): readonly NestLimits[] {
  if (skipped === undefined) return limits;
  if (skipped.length === 0) return [];
  const names = known.flatMap((one) => [one.name, ...one.limits.flatMap(listNames)]);
  for (const name of skipped) {
    if (names.includes(name)) continue;
    const what = `@SkipRateLimit(${shown(name)}) on ${where} names no limit that applies there`;
    throw unknownName('@SkipRateLimit', what, names);
  }
  const isSkipped = (name: string): boolean => skipped.includes(name);
  return limits.flatMap((one) => {
    const left = isSkipped(one.name) ? [] : one.limits.filter((limit) => !listNames(limit).some(isSkipped));
    if (left.length === one.limits.length) return [one];
    return left.length === 0 ? [] : [{ ...one, name: one.name, limits: left }];
  });
}

/** An entry of `limits`, and its policy. One of several policies has no name here: they are counted under one key. */
function listNames({ name, limit }: NestLimits['limits'][number]): readonly string[] {
  const [policy, ...others] = typeof limit === 'function' ? [] : (limit.fixed ?? []);
  return policy === undefined || others.length > 0 ? [name] : [name, policy.name];
}

/** The error for a name that no limit has, with the known names. */
export function unknownName(field: string, what: string, names: readonly string[]): PolicyError {
  const known = names.length === 0 ? 'there are none' : `known: ${[...new Set(names)].map(shown).join(', ')}`;
  return new PolicyError(field, `${what}; ${known}`, 'SLUICE_OPTION_INVALID');
}

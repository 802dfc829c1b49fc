import { PolicyError, shown } from '../errors.ts';

/**
 * The largest integer in a structured header field (RFC 9651), hence the largest limit that a response can report.
 */
export const LARGEST_LIMIT = 999_999_999_999_999;

/**
 * The most units that count as used. With the cost of one more request the sum is still an exact double. `MOST_UNITS`
 * in the twins.
 */
export const MOST_UNITS: number = 2 ** 52;

/**
 * Checks a whole number of units of a policy.
 *
 * @throws PolicyError if it is not a whole number, below `least`, or too large for a header field.
 */
export function parseUnits(value: unknown, field: string, least = 1, most: number = LARGEST_LIMIT): number {
  const isWhole = typeof value === 'number' && Number.isInteger(value) && !Object.is(value, -0);
  if (isWhole && value >= least && value <= most) return value;
  const instead = insteadOf(value, field, least);
  throw new PolicyError(
    field,
    `${field} must be a whole number from ${String(least)} to ${String(most)}, got ${shown(value)}${instead}`,
  );
}

/** A suggestion for a bad number of units, if there is one. */
function insteadOf(value: unknown, field: string, least: number): string {
  if (value === undefined) return `; write for example ${field}: 100`;
  if (typeof value === 'string' && value.trim() !== '' && Number.isInteger(Number(value)) && Number(value) >= least) {
    return `; write ${field}: ${String(Number(value))}`;
  }
  if (typeof value !== 'number') return '';
  if (value > 0 && value < 1) return '; for less than one unit per window write one unit and a longer window';
  if (value > LARGEST_LIMIT) return '; to limit nothing leave the policy out';
  if (value <= 0 && least === 1)
    return '; to deny everything write fixedWindow({ limit: 0, window: "1m" }), or use limiter.block(key, duration)';
  return '';
}

/** Greatest common divisor of two positive integers. */
export function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** A share of some units, rounded down, at least one; 0 of 0. Rounds first to 15 digits, to undo errors of doubles. */
export function shareOf(units: number, share: number): number {
  if (units === 0) return 0;
  return Math.max(Math.floor(Number((units * share).toPrecision(15))), 1);
}

import { rangeError, shown, typeError } from '../errors.ts';

/**
 * Checks a cost that a caller gives.
 *
 * @throws TypeError if it is not a number, RangeError if it is not a whole number from 0 to 2^53 - 1; both
 * `SLUICE_COST_INVALID`.
 */
export function checkCost(cost: unknown): asserts cost is number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return;
  const isNumber = typeof cost === 'number';
  const hint = !isNumber
    ? 'write a number such as 1'
    : cost < 0
      ? 'to give units back, use refund(decision)'
      : 'count in smaller units';
  throw invalidUnits(cost, 'cost must be a whole number from 0 to 2^53 - 1', `${hint}; nothing was consumed`);
}

/**
 * Checks units that are reserved, refunded or reported.
 *
 * @param expected - What they should be, for the error; and what came of them instead.
 * @throws as {@link checkCost} does.
 */
export function checkUnits(
  units: unknown,
  [min, max]: readonly [number, number],
  expected: string,
  effect = 'nothing was settled',
): asserts units is number {
  if (Number.isSafeInteger(units) && (units as number) >= min && (units as number) <= max) return;
  throw invalidUnits(units, expected, effect);
}

function invalidUnits(given: unknown, expected: string, effect: string): TypeError | RangeError {
  const error = typeof given === 'number' ? rangeError : typeError;
  return error('SLUICE_COST_INVALID', `${expected}, got ${shown(given)}; ${effect}`);
}

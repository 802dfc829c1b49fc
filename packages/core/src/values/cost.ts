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
      ? 'to give units back use refund(decision)'
      : 'count in smaller units';
  throw invalidUnits(cost, 'cost must be a whole number from 0 to 2^53 - 1', `${hint}; nothing was consumed`);
}

/**
 * Checks an estimate: a cost, but not 0, because a request that consumes nothing opens no window to charge the actual
 * units to.
 *
 * @throws as {@link checkCost} does.
 */
export function checkEstimate(estimate: unknown): asserts estimate is number {
  if (Number.isSafeInteger(estimate) && (estimate as number) > 0) return;
  const expected = 'an estimate is a whole number from 1 to 2^53 - 1';
  throw invalidUnits(estimate, expected, 'nothing was consumed; if you cannot tell, reserve 1');
}

/**
 * Checks units that are given back or reported.
 *
 * @param expected - What they should be, for the error.
 * @throws as {@link checkCost} does.
 */
export function checkUnits(units: unknown, max: number, expected: string): asserts units is number {
  if (Number.isSafeInteger(units) && (units as number) >= 0 && (units as number) <= max) return;
  throw invalidUnits(units, expected, 'nothing was settled');
}

function invalidUnits(given: unknown, expected: string, effect: string): TypeError | RangeError {
  const error = typeof given === 'number' ? rangeError : typeError;
  return error('SLUICE_COST_INVALID', `${expected}, got ${shown(given)}; ${effect}`);
}

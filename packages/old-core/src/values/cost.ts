import { rangeError, shown, typeError } from '../errors.ts';

/**
 * Checks a cost that a caller gives.
 *
 * @throws TypeError if it is not a number, RangeError if it is not a whole number from 0 to 2^53 - 1; both
 * `SLUICE_COST_INVALID`.
 */
export function checkCost(cost: unknown): asserts cost is number {
  if (typeof cost !== 'number')
    throw typeError(
      'SLUICE_COST_INVALID',
      `cost must be a whole number, got ${shown(cost)}; write a number such as 1; nothing was consumed`,
    );
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw rangeError(
      'SLUICE_COST_INVALID',
      `cost must be a whole number from 0 to 2^53 - 1, got ${shown(cost)}; ${cost < 0 ? 'to give units back use refund(decision)' : 'count in smaller units'}; nothing was consumed`,
    );
  }
}

/**
 * Checks an estimate: a cost, but not 0, because a request that consumes nothing opens no window to charge the actual
 * units to.
 *
 * @throws as {@link checkCost} does.
 */
export function checkEstimate(estimate: unknown): asserts estimate is number {
  if (isUnits(estimate) && estimate > 0) return;
  throw notUnits(
    estimate,
    'an estimate is a whole number from 1 to 2^53 - 1',
    'nothing was consumed; if you cannot tell, reserve 1',
  );
}

/**
 * Checks the actual units that a caller reports.
 *
 * @throws as {@link checkCost} does.
 */
export function checkActual(actual: unknown): asserts actual is number {
  if (isUnits(actual)) return;
  throw notUnits(
    actual,
    'settle takes the whole number of units that were used, from 0 to 2^53 - 1',
    'nothing was settled by this call',
  );
}

function isUnits(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function notUnits(value: unknown, expected: string, effect: string): TypeError | RangeError {
  const error = typeof value === 'number' ? rangeError : typeError;
  return error('SLUICE_COST_INVALID', `${expected}, got ${shown(value)}; ${effect}`);
}

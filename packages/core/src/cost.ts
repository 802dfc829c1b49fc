import { rangeError, shown, typeError } from './errors.ts';

/**
 * Checks what a caller gave as a cost.
 *
 * @throws TypeError when it is no number, RangeError when it is no whole one from 0 to 2^53 - 1; both
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

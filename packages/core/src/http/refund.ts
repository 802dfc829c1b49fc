import { PolicyError, shown } from '../errors.ts';
import { checkOptions } from '../options.ts';
import { TurnQueue } from './turn-queue.ts';
import type { RefundOptions, RefundWhen } from './options.ts';

/** Longer timers overflow to 1 ms. */
const LONGEST_HOLD_MS = 2 ** 31 - 1;

/** The option `refund`, checked, and the requests that wait for others to give their units back. */
export interface Refund<Request, Response> {
  readonly when: RefundWhen<Request, Response>;
  readonly holdMs: number;
  readonly queue: TurnQueue;
}

/** @throws PolicyError when it is neither a rule nor an object with one. */
export function parseRefund<Request, Response>(
  option: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined,
): Refund<Request, Response> | undefined {
  if (option === undefined) return undefined;
  const isObject = typeof option === 'object' && (option as unknown) !== null;
  if (isObject) checkOptions(option, ['when', 'holdMs'], 'refund');
  const { when, holdMs = 0 } = (isObject ? option : { when: option }) as RefundOptions<Request, Response>;
  if (typeof when !== 'function' && !['on-success', 'on-failure'].includes(when)) {
    const field = isObject ? 'refund.when' : 'refund';
    throw new PolicyError(
      field,
      `${field} must be "on-success", "on-failure" or a function of request and response, got ${shown(when)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (!Number.isInteger(holdMs) || holdMs < 0 || holdMs > LONGEST_HOLD_MS) {
    throw new PolicyError(
      'refund.holdMs',
      `refund.holdMs must be a whole number of milliseconds, at least 0, got ${shown(holdMs)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { when, holdMs, queue: new TurnQueue() };
}

import type { Decision } from '../decision.ts';
import { SluiceError } from '../errors.ts';
import type { LimiterHost } from './host.ts';
import { keepRenewing } from './slots.ts';

/** The argument of a function that {@link Limiter.run} calls. */
export interface Running {
  /** The decision that allowed it. */
  readonly decision: Decision;
  /** Aborts when the caller's signal does, and when the slot is lost. */
  readonly signal: AbortSignal;
}

/**
 * Calls a function that a decision has allowed. Holds the slots of the decision, if it took any, until the function has
 * ended.
 *
 * @param signal - The caller's.
 */
export async function runHolding<Result>(
  host: LimiterHost,
  decision: Decision,
  signal: AbortSignal | undefined,
  fn: (running: Running) => Result | Promise<Result>,
): Promise<Result> {
  const slots = host.slots.heldBy(decision);
  const aborting = new AbortController();
  // Not AbortSignal.any, which leaves something behind in a signal that lives on.
  const abort = (): void => {
    aborting.abort(signal?.reason);
  };
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const stopRenewing =
    slots &&
    keepRenewing(slots, () => {
      const what = `the slot of the limiter ${host.name} is not held any more`;
      const why = 'it was not renewed within its ttl, or the store lost it; another holder may run beside this one';
      aborting.abort(new SluiceError('SLUICE_SLOT_LOST', `${what}: ${why}`));
    });
  try {
    return await fn({ decision, signal: aborting.signal });
  } finally {
    signal?.removeEventListener('abort', abort);
    stopRenewing?.();
    await slots?.release(); // awaited, so that the slot is free when the caller goes on
  }
}

import type { Decision } from '../decision.ts';
import { isSluiceError, shown, SluiceError } from '../errors.ts';
import { detached, MAX_TIMER_MS, type Timer } from '../platform.ts';
import { ALLOWED } from '../program/decide.ts';
import type { LimiterCore } from './core.ts';
import { LimiterDecision } from './decision.ts';
import type { Running } from './limiter.ts';

/** Slots that a decision holds. Both functions also work after the limiter was closed. */
export interface HeldSlots {
  /** How soon the first of them expire without a renewal. */
  readonly ttlMs: number;
  /**
   * Makes them expire a `ttl` from now. Returns whether all of them were still held; without a call once they were
   * released, or a `ttl` has passed.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  renew(): Promise<boolean>;
  /** Releases them, once. If the store fails, it is retried later, or the slots expire. */
  release(): Promise<void>;
}

/** The slots that a decision took; undefined if it took none, or no store decided. */
export function findSlots(core: LimiterCore, decision: Decision): HeldSlots | undefined {
  const receipt = LimiterDecision.readReceipt(decision);
  if (receipt === undefined || receipt.op === 'peek' || !decision.allowed || decision.source === 'none')
    return undefined;
  const asks = receipt.asks.filter(({ holder = 0 }) => holder > 0);
  if (asks.length === 0) return undefined;
  const ttlMs = Math.min(...asks.map(({ counted }) => counted.rule.windowMs));
  let untilMs = performance.now() + ttlMs;
  let isReleased = false;
  return {
    ttlMs,
    renew: async () => {
      if (isReleased || performance.now() >= untilMs) return false;
      const { figures } = await core.send('renew', asks, receipt.isLocal);
      if (!figures.every((of) => of[ALLOWED] === 1)) return false;
      untilMs = performance.now() + ttlMs;
      return true;
    },
    release: async () => {
      if (isReleased) return;
      isReleased = true; // sent after a ttl as well: a renewal whose answer was lost may have held them longer
      try {
        await core.send('give', asks, receipt.isLocal);
      } catch (error) {
        if (!isSluiceError(error)) throw error;
        core.guard?.keep('give', asks); // it names its holder, so it may be sent twice
      }
    },
  };
}

/** With three renewals per `ttl`, a slot survives one failed renewal followed by a late one. */
const RENEWALS_PER_TTL = 3;

/**
 * Renews slots until stopped. A renewal that fails is repeated at the next interval.
 *
 * @param lost - Called when a renewal shows that they are no longer held.
 * @returns Stops that.
 */
export function keepRenewing(slots: HeldSlots, lost: () => void): () => void {
  let isStopped = false;
  const renew = (): void => {
    const concluded = (isHeld: boolean): void => {
      if (!isHeld && !isStopped) lost();
    };
    slots.renew().then(concluded, () => undefined);
  };
  const everyMs = Math.min(Math.ceil(slots.ttlMs / RENEWALS_PER_TTL), MAX_TIMER_MS);
  const timer = detached(() => setInterval(renew, everyMs));
  (timer as Timer).unref?.();
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/**
 * Calls a function that a decision has allowed, and holds the decision's slots until the function has ended.
 *
 * @param signal - The caller's.
 */
export async function runHolding<Result>(
  core: LimiterCore,
  decision: Decision,
  signal: AbortSignal | undefined,
  fn: (running: Running) => Result | Promise<Result>,
): Promise<Result> {
  const slots = findSlots(core, decision);
  const aborting = new AbortController();
  // Not AbortSignal.any, which leaks into a long-lived signal.
  const abort = (): void => {
    aborting.abort(signal?.reason);
  };
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const lose = (): void => {
    const what = `the slot of the limiter ${shown(core.name)} is no longer held`;
    const why = 'it was not renewed within its ttl, or the store lost it; another holder may run at the same time';
    aborting.abort(new SluiceError('SLUICE_SLOT_LOST', `${what}: ${why}`));
  };
  const stopRenewing = slots && keepRenewing(slots, lose);
  try {
    return await fn({ decision, signal: aborting.signal });
  } finally {
    signal?.removeEventListener('abort', abort);
    stopRenewing?.();
    await slots?.release(); // awaited, so that the slot is free when the caller goes on
  }
}

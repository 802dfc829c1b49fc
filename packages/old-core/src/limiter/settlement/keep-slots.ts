import { messageOf } from '../../errors.ts';
import { LONGEST_TIMER_MS } from '../../platform/clock.ts';
import { warnOnce } from '../../warnings.ts';

/** Slots that a request holds, taken by one decision. */
export interface HeldSlots {
  /** How soon the first of them expire without a renewal. */
  ttlMs(): number;

  /**
   * Makes them expire a `ttl` from now. Returns whether all of them were still held.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  renew(): Promise<boolean>;

  /**
   * Releases them. Can be called once more after a failure.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  release(): Promise<void>;
}

/** With three renewals per `ttl`, a slot survives one failed renewal followed by a late one. */
const RENEWALS_PER_TTL = 3;
const RETRY_RELEASE_MS = 1000;

/**
 * Renews slots until stopped. A renewal that fails is repeated at the next interval.
 *
 * @param lost - Called when a renewal shows that they are not held any more.
 * @param endMs - When to check at the latest, by `performance.now()`.
 * @param check - Called before each renewal: may stop.
 */
export function keepRenewing(
  slots: HeldSlots,
  lost: () => void,
  endMs: number = Infinity,
  check: () => void = () => undefined,
): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const scheduleRenewal = (): void => {
    const intervalMs = Math.ceil(slots.ttlMs() / RENEWALS_PER_TTL);
    timer = setTimeout(renew, Math.min(intervalMs, Math.ceil(endMs - performance.now()), LONGEST_TIMER_MS));
    timer.unref();
  };
  const renew = (): void => {
    check();
    if (isStopped) return;
    scheduleRenewal();
    slots.renew().then(
      (isHeld) => {
        if (!isHeld && !isStopped) lost();
      },
      () => undefined,
    );
  };
  scheduleRenewal();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/**
 * Releases slots, with a second attempt if the first fails. Slots that stay unreleased expire, which is warned about.
 */
export async function releaseWithRetry(slots: Pick<HeldSlots, 'release'>): Promise<void> {
  try {
    await slots.release().catch(async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_RELEASE_MS).unref();
      });
      await slots.release();
    });
  } catch (error) {
    warnOnce(
      'SLUICE_RELEASE_FAILED',
      `a slot could not be released, and is held until its ttl expires: ${messageOf(error)}`,
    );
  }
}

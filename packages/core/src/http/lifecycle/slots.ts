import type { Decision } from '../../engine/decision.ts';
import { typeError } from '../../errors.ts';
import type { HeldSlots } from '../../limiter/settlement/settlements.ts';
import type { LimiterCore } from '../../limiter/core.ts';
import { warnOnce } from '../../warnings.ts';
import { hasEnded, onClose } from './disconnect.ts';
import { NO_RESPONSE, type RawRequest, type RawResponse } from '../framework.ts';

/** With three renewals per `ttl`, a slot survives one failed renewal followed by a late one. */
const RENEWALS_PER_TTL = 3;
/** Longer timers overflow to 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const RETRY_RELEASE_MS = 1000;

/**
 * Holds the slots of a decision, if it has any, until the response ends in any way, and renews them until then. If
 * the response has already ended, releases them immediately.
 *
 * @param maxHoldMs - Releases them after this time even if the response goes on.
 * @param released - Called after the release.
 * @throws TypeError `SLUICE_ACQUIRE_NEEDED` without a response, because there is no end to wait for.
 */
export function holdUntilClosed(
  core: LimiterCore,
  decision: Decision | undefined,
  request: RawRequest,
  response: RawResponse,
  maxHoldMs: number,
  released: () => void,
): void {
  const slots = decision?.allowed === true ? core.settlements.slotsOf(decision) : undefined;
  if (slots === undefined) return;
  const release = (): void => {
    releaseWithRetry(slots).then(released, warnOfRelease);
  };
  if (response === NO_RESPONSE) {
    release();
    throw typeError(
      'SLUICE_ACQUIRE_NEEDED',
      'a concurrency policy holds slots until the response ends, and this call has no response: use limiter.acquire(key), or return the response from responseOf(context) of the guard',
    );
  }
  if (hasEnded(request, response)) {
    release();
    return;
  }
  const end = (): void => {
    stopListening();
    stopRenewing();
    release();
  };
  const endMs = performance.now() + maxHoldMs;
  const stopRenewing = keepRenewing(slots, core.name, endMs, () => {
    if (hasEnded(request, response)) {
      end();
    } else if (performance.now() >= endMs) {
      end();
      warnOfTimeout(core.name, maxHoldMs);
    }
  });
  const stopListening = onClose(request, response, end);
}

/**
 * Renews slots until stopped. A renewal that fails is repeated at the next interval.
 *
 * @param endMs - When to check at the latest, by `performance.now()`.
 * @param check - Called before each renewal: may stop.
 */
function keepRenewing(slots: HeldSlots, name: string, endMs: number, check: () => void): () => void {
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
        if (!isHeld && !isStopped) warnOfLoss(name);
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

/** Releases slots, with a second attempt if the first fails. Slots that stay unreleased expire. */
async function releaseWithRetry(slots: HeldSlots): Promise<void> {
  try {
    await slots.release();
  } catch {
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_RELEASE_MS).unref();
    });
    await slots.release();
  }
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_SLOT_LOST',
    `a request of the limiter ${name} continues without its slot, which another request may hold now: the slot was not renewed within its ttl, or the store lost it.`,
    name,
  );
}

function warnOfTimeout(name: string, maxHoldMs: number): void {
  warnOnce(
    'SLUICE_SLOT_TIMEOUT',
    `a request of the limiter ${name} still runs after maxHoldMs, ${String(maxHoldMs)} ms, and its slot was released: another request may run beside it. ` +
      'If requests may take that long, set a longer maxHoldMs; else end them, or drop clients that do not read.',
    name,
  );
}

function warnOfRelease(error: unknown): void {
  warnOnce(
    'SLUICE_RELEASE_FAILED',
    `a slot could not be released, and is held until its ttl expires: ${error instanceof Error ? error.message : String(error)}`,
  );
}

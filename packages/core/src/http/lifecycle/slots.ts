import type { Decision } from '../../engine/decision.ts';
import { typeError } from '../../errors.ts';
import type { HeldSlots } from '../../limiter/settlement/settlements.ts';
import type { LimiterCore } from '../../limiter/core.ts';
import { warnOnce } from '../../warnings.ts';
import { isGone, onClose } from './disconnect.ts';
import { NO_RESPONSE, type RawRequest, type RawResponse } from '../framework.ts';

/** With three renewals per `ttl`, a slot survives one failed renewal followed by a late one. */
const RENEWALS_PER_TTL = 3;
/** Longer timers overflow to 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const RETRY_RELEASE_MS = 1000;

/**
 * Holds the slots of a decision, if it has any, until the response ends in any way, and renews them until then. If
 * the client is already gone, releases them immediately.
 *
 * @param released - Called after the release.
 * @throws TypeError `SLUICE_ACQUIRE_NEEDED` without a response, because there is no end to wait for.
 */
export function holdUntilClosed(
  core: LimiterCore,
  decision: Decision | undefined,
  request: RawRequest,
  response: RawResponse,
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
  if (isGone(request, response)) {
    release();
    return;
  }
  const stopRenewing = keepRenewing(slots, core.name);
  const stopListening = onClose(request, response, () => {
    stopListening();
    stopRenewing();
    release();
  });
}

/** Renews slots until stopped. A renewal that fails is repeated at the next interval. */
function keepRenewing(slots: HeldSlots, name: string): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const scheduleRenewal = (): void => {
    timer = setTimeout(renew, Math.min(Math.ceil(slots.ttlMs() / RENEWALS_PER_TTL), LONGEST_TIMER_MS));
    timer.unref();
  };
  const renew = (): void => {
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

function warnOfRelease(error: unknown): void {
  warnOnce(
    'SLUICE_RELEASE_FAILED',
    `a slot could not be released, and is held until its ttl expires: ${error instanceof Error ? error.message : String(error)}`,
  );
}

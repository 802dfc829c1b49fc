import type { Decision } from '../decision.ts';
import { typeError } from '../errors.ts';
import type { HeldSlots } from '../held-slots.ts';
import type { LimiterCore } from '../limiter-core.ts';
import { ManagedLimit } from '../managed/managed-limit.ts';
import type { AskedPart } from '../managed/resolve.ts';
import { holdsSlots } from '../policy.ts';
import { warnOnce } from '../warnings.ts';
import { hasLeft, onDeparture } from './departure.ts';
import { NO_RESPONSE, type RawRequest, type RawResponse } from './framework.ts';

/** Renewed so often in its `ttl`, a slot outlives a renewal that fails, and one after that which is late. */
const RENEWALS = 3;
/** Longer timers overflow to 1 ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const RELEASE_AGAIN_MS = 1000;

/** Whether a decision over this may hold slots. A managed policy may become one that does at any time. */
export function mayHoldSlots(limit: AskedPart['limit']): boolean {
  return limit instanceof ManagedLimit || holdsSlots(limit.policies);
}

/**
 * Holds the slots that a decision took until the response is over, however it ends; nothing where it took none. Renews
 * them while the response goes on. Of a client that is gone already they are released at once.
 *
 * @param released - Called once they are.
 * @throws TypeError `SLUICE_ACQUIRE_NEEDED` where there is no response, and so no end.
 */
export function holdUntilOver(
  core: LimiterCore,
  decision: Decision | undefined,
  request: RawRequest,
  response: RawResponse,
  released: () => void,
): void {
  const slots = decision?.allowed === true ? core.taken.slotsOf(decision) : undefined;
  if (slots === undefined) return;
  const release = (): void => {
    releaseSurely(slots).then(released, warnOfRelease);
  };
  if (response === NO_RESPONSE) {
    release();
    throw typeError(
      'SLUICE_ACQUIRE_NEEDED',
      'a policy holds slots until a response is over, and here is none: use limiter.acquire(key), or answer the response from responseOf(context) of the guard',
    );
  }
  if (hasLeft(request, response)) {
    release();
    return;
  }
  const stopRenewing = renewAgainAndAgain(slots, core.name);
  const stopListening = onDeparture(request, response, () => {
    stopListening();
    stopRenewing();
    release();
  });
}

/** What fails is tried again when the next turn comes. */
function renewAgainAndAgain(slots: HeldSlots, name: string): () => void {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout>;
  const waitForTurn = (): void => {
    timer = setTimeout(renew, Math.min(Math.ceil(slots.ttlMs() / RENEWALS), LONGEST_TIMER_MS));
    timer.unref();
  };
  const renew = (): void => {
    waitForTurn();
    slots.renew().then(
      (isHeld) => {
        if (!isHeld && !isOver) warnOfLoss(name);
      },
      () => undefined,
    );
  };
  waitForTurn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/** Releases slots, at the second attempt if need be: what then is not released expires. */
async function releaseSurely(slots: HeldSlots): Promise<void> {
  try {
    await slots.release();
  } catch {
    await new Promise((resolve) => {
      setTimeout(resolve, RELEASE_AGAIN_MS).unref();
    });
    await slots.release();
  }
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_SLOT_LOST',
    `a request under the limiter ${name} goes on without its slot, which somebody else may have: it could not be renewed within its ttl, or the store has forgotten it.`,
    name,
  );
}

function warnOfRelease(error: unknown): void {
  warnOnce(
    'SLUICE_RELEASE_FAILED',
    `a slot could not be released, and is held until its ttl is over: ${error instanceof Error ? error.message : String(error)}`,
  );
}

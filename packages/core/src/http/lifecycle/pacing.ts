import type { LimiterCore } from '../../limiter/core.ts';
import { deniedForWaiting, type Decision } from '../../limiter/decision.ts';
import { schedule } from '../../limiter/schedule.ts';
import { refundPacing, settle } from '../../limiter/settle.ts';
import type { RawRequest, RawResponse } from '../framework.ts';
import type { MaybePromise } from '../maybe.ts';
import { GONE, type Plan } from '../plan.ts';
import { isGone, onClose } from './disconnect.ts';

/** A request that may have to wait before it starts. */
export interface Pacing {
  readonly core: LimiterCore;
  /** How many more requests may be held: `maxPaced` minus those held now. */
  readonly paced: { free: number };
  readonly raw: RawRequest;
  readonly rawResponse: RawResponse | undefined;
}

/**
 * Decides, and holds a request that is allowed with a delay until it may start. If its client leaves during the wait,
 * its place becomes free unless another request is behind it.
 *
 * Holds at most `maxPaced` requests. Further requests are denied, and take nothing.
 *
 * @param decide - Takes the units (none with `peek`) without publishing the decision.
 * @param report - Reports the decision to the application.
 */
export async function decidePaced(
  { core, paced, raw, rawResponse }: Pacing,
  decide: (op: 'take' | 'peek') => MaybePromise<Decision>,
  report: (decision: Decision) => MaybePromise<Plan>,
): Promise<Plan> {
  const startMs = performance.now();
  const conclude = (decision: Decision): MaybePromise<Plan> => {
    core.publish('take', decision, startMs);
    return report(decision);
  };
  // Checked before the store is called: of many concurrent requests, those that find no room here must take nothing
  // there.
  const hasRoom = paced.free > 0;
  let places = hasRoom ? 1 : 0;
  paced.free -= places;
  const leave = (): void => {
    paced.free += places;
    places = 0;
  };
  try {
    if (!hasRoom) {
      const expected = await decide('peek');
      if (isDelayed(expected)) return await conclude(deniedForWaiting(expected));
    }
    const taken = decide('take'); // with a synchronous store, no other request is decided before this one is held
    const decision = taken instanceof Promise ? await taken : taken;
    const arrivedMs = performance.now();
    if (!isDelayed(decision)) {
      leave();
      return await conclude(decision);
    }
    if (!hasRoom) {
      void settle(core, decision, 'give', ({ cost }) => cost); // others came during the call
      return await conclude(deniedForWaiting(decision));
    }
    let hasStarted = false;
    // Counts once, however often it is called. Units of policies that only count stay taken.
    const freePlace = (): void => void refundPacing(core, decision);
    try {
      const decided = await conclude(decision);
      hasStarted = await waitUntil(arrivedMs + decision.delayMs, raw, rawResponse, freePlace);
      return hasStarted ? decided : GONE;
    } finally {
      if (!hasStarted) freePlace();
    }
  } finally {
    leave();
  }
}

function isDelayed({ allowed, delayMs }: Decision): boolean {
  return allowed && delayMs > 0;
}

/**
 * Waits until `dueMs` (by `performance.now()`), never less. Resolves to false if the client left first.
 *
 * @param left - Called in the same tick as the client leaves, because the next request may be decided in it.
 */
async function waitUntil(
  dueMs: number,
  request: RawRequest,
  response: RawResponse | undefined,
  left: () => void,
): Promise<boolean> {
  if (isGone(request, response)) return false;
  return new Promise((resolve) => {
    const stop = (hasStarted: boolean): void => {
      stopListening();
      cancel();
      resolve(hasStarted);
    };
    const stopListening = onClose(request, response, () => {
      left();
      stop(false);
    });
    let cancel = (): void => undefined; // replaced below, unless the call is already due
    cancel = schedule(dueMs, () => {
      stop(!isGone(request, response));
    });
  });
}

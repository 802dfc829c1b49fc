import { paces, schedule, warnOfRefund, type UnresolvedPart } from '@sluice/old-core/spi';
import type { Decision } from '@sluice/old-core';
import { isGone, onClose } from './disconnect.ts';
import type { RawRequest, RawResponse } from '../framework.ts';
import type { LimitRequest } from '../limit-resolver.ts';
import { PacedRequests } from '../paced-requests.ts';
import type { PendingDecision } from '../pending-decision.ts';

/**
 * Decides, and holds a request that is allowed with a delay until it may start. Returns `gone` when its client leaves
 * during the wait: its position becomes free again if no other request is behind it.
 *
 * Holds at most `maxPaced` requests per layer, and leaves room for other keys. Further requests are denied, and take
 * nothing.
 *
 * @param consume - Takes the units.
 * @param conclude - Reports the decision to the application.
 */
export async function decidePaced<Request, Response, Decided>(
  pending: PendingDecision<Request, Response>,
  consume: () => Decision | Promise<Decision>,
  conclude: (decision: Decision) => Decided | Promise<Decided>,
): Promise<Decided | 'gone'> {
  const { core, requests, rawRequest, rawResponse } = pending;
  const startMs = performance.now();
  const pacing = requests.filter(({ parts }) => parts.some(({ limit }) => paces(limit)));
  // Before the store is called: of many concurrent requests, those that find no room here must take nothing in the
  // store.
  let exit = enter(pacing);
  try {
    if (exit === undefined) {
      pending.startDeadline();
      const peeked = pending.peek();
      const expected = peeked instanceof Promise ? await peeked : peeked;
      if (isDelayed(expected))
        return await conclude(
          core.denyWaiting(
            expected,
            startMs,
            requests.flatMap(({ parts }) => parts),
          ),
        );
    }
    const consumed = consume(); // with a synchronous store, no other request is decided before this one is held
    const decision = consumed instanceof Promise ? await consumed : consumed;
    const arrivedMs = performance.now();
    if (!isDelayed(decision)) {
      exit?.();
      return await conclude(decision);
    }
    if (exit === undefined || pacing.length === 0) {
      // The situation changed during the decision: other requests came, or a policy that changes began to pace.
      exit = enter(pacing.length === 0 ? requests : pacing);
      if (exit === undefined) {
        core.settlements.refund(decision).catch(warnOfRefund);
        return await conclude(
          core.denyWaiting(
            decision,
            startMs,
            requests.flatMap(({ parts }) => parts),
          ),
        );
      }
    }
    let hasStarted = false;
    const freePosition = (): void => {
      core.settlements.refundPositions(decision).catch(warnOfRefund); // happens once, however often it is called
    };
    try {
      const decided = await conclude(decision);
      hasStarted = await waitUntil(arrivedMs + decision.delayMs, rawRequest, rawResponse, freePosition);
      return hasStarted ? decided : 'gone';
    } finally {
      if (!hasStarted) freePosition();
    }
  } finally {
    exit?.();
  }
}

/** Adds a request to those that its layers hold: see {@link PacedRequests.enter}. */
function enter<Request, Response>(requests: readonly LimitRequest<Request, Response>[]): (() => void) | undefined {
  return PacedRequests.enter(
    requests.map(({ layer, parts }) => ({
      pacedRequests: layer.pacedRequests,
      key: parts.map(lineKey).join(' '),
    })),
  );
}

/** The line in which a part's requests wait. */
function lineKey({ limit, subject }: UnresolvedPart): string {
  return `${limit.keySuffix} ${subject}`;
}

function isDelayed({ allowed, delayMs }: Decision): boolean {
  return allowed && delayMs > 0;
}

/**
 * Waits until `dueMs` (by `performance.now()`), never less. Resolves to false when the client left before.
 *
 * @param left - Called in the tick in which the client leaves, because the next request may be decided in that tick.
 */
async function waitUntil(
  dueMs: number,
  request: RawRequest,
  response: RawResponse,
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

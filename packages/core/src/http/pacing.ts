import type { Decision } from '../decision.ts';
import type { LimiterCore } from '../limiter-core.ts';
import { ManagedLimit } from '../managed/managed-limit.ts';
import type { AskedPart } from '../managed/resolve.ts';
import { hasLeft, onDeparture } from './departure.ts';
import type { RawRequest, RawResponse } from './framework.ts';
import { HeldRequests } from './held-requests.ts';
import type { Asking } from './asking.ts';
import { warnOfRefund } from './settlement.ts';
import { startAt } from './starts.ts';

/** A request that may have to wait for its start, and how it is decided. */
export interface PacedRequest<Decided> {
  readonly core: LimiterCore;
  readonly request: RawRequest;
  readonly response: RawResponse;
  /** Looks, and takes nothing. */
  readonly peek: () => Decision | Promise<Decision>;
  /** Undefined when the client has left. */
  readonly consume: () => Decision | Promise<Decision | undefined>;
  /** Tells the application of the decision. */
  readonly conclude: (decision: Decision | undefined) => Decided | Promise<Decided>;
}

/** Whether a decision over this may make a request wait. A managed policy may become one that does at any time. */
export function mayPace(limit: AskedPart['limit']): boolean {
  return limit instanceof ManagedLimit || paces(limit);
}

/**
 * Decides, and holds a request that is admitted with a delay until it may start. Answers `left` when its client leaves
 * meanwhile: then its place is free again, where nobody stands behind it.
 *
 * No more are held than their layers say: another one is refused, and takes nothing.
 */
export async function decideInPace<Request, Response, Decided>(
  askings: readonly Asking<Request, Response>[],
  { core, request, response, peek, consume, conclude }: PacedRequest<Decided>,
): Promise<Decided | 'left'> {
  const startMs = performance.now();
  const pacing = askings.filter(({ parts }) => parts.some(({ limit }) => paces(limit)));
  // Before it is asked: of many that are decided at once, those that find no place here must leave theirs in the store alone.
  let leave = HeldRequests.enter(pacing.map(({ layer }) => layer.held));
  try {
    if (leave === undefined) {
      const asked = peek();
      const seen = asked instanceof Promise ? await asked : asked;
      if (isDelayed(seen)) return await conclude(core.turnAway(seen, startMs));
    }
    const asked = consume(); // not waited for where the store answers at once: nobody else is decided meanwhile
    const decision = asked instanceof Promise ? await asked : asked;
    const arrivedMs = performance.now();
    if (decision === undefined || !isDelayed(decision)) {
      leave?.();
      return await conclude(decision);
    }
    if (leave === undefined || pacing.length === 0) {
      // What is in the way came while it was decided: others, or another edition of a managed policy.
      leave = HeldRequests.enter((pacing.length === 0 ? askings : pacing).map(({ layer }) => layer.held));
      if (leave === undefined) {
        core.taken.refund(decision).catch(warnOfRefund);
        return await conclude(core.turnAway(decision, startMs));
      }
    }
    let starts = false;
    const giveBack = (): void => {
      core.taken.refundPlaces(decision).catch(warnOfRefund); // once, however often it is called
    };
    try {
      const decided = await conclude(decision);
      starts = await rest(arrivedMs + decision.delayMs, request, response, giveBack);
      return starts ? decided : 'left';
    } finally {
      if (!starts) giveBack();
    }
  } finally {
    leave?.();
  }
}

function isDelayed({ allowed, delayMs }: Decision): boolean {
  return allowed && delayMs > 0;
}

function paces(limit: AskedPart['limit']): boolean {
  if (!(limit instanceof ManagedLimit)) return limit.policies.some(({ algorithm }) => algorithm.paces === true);
  const current = limit.definitions.isLoaded ? limit.current() : undefined;
  return current !== undefined && paces(current);
}

/**
 * Waits until `dueMs` (by `performance.now()`), and not a moment less. Answers false when the client left before.
 *
 * @param left - Called in the very tick in which it leaves: who comes next is decided in that tick, too.
 */
async function rest(dueMs: number, request: RawRequest, response: RawResponse, left: () => void): Promise<boolean> {
  if (hasLeft(request, response)) return false;
  return new Promise((resolve) => {
    const stop = (starts: boolean): void => {
      stopListening();
      callOff();
      resolve(starts);
    };
    const stopListening = onDeparture(request, response, () => {
      left();
      stop(false);
    });
    let callOff = (): void => undefined; // it may be due already
    callOff = startAt(dueMs, () => {
      stop(!hasLeft(request, response));
    });
  });
}

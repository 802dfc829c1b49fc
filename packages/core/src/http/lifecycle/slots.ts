import { shown, typeError } from '../../errors.ts';
import type { LimiterCore } from '../../limiter/core.ts';
import type { Decision } from '../../limiter/decision.ts';
import { findSlots, keepRenewing } from '../../limiter/slots.ts';
import { startTimer, stopTimer, type Timer } from '../../platform.ts';
import { warnOnce } from '../../warnings.ts';
import type { RawRequest, RawResponse } from '../framework.ts';
import { hasEnded, onClose } from './disconnect.ts';

/**
 * Node 20 closes some streams of HTTP/2 without an event, so a response that holds slots is checked from time to time.
 */
const CHECKS_PER_TTL = 3;

/**
 * Holds the slots of a decision, if it has any, until the response ends in any way, and renews them until then. If
 * the response has already ended, releases them immediately.
 *
 * @param maxSlotMs - Releases them after this time even if the response goes on, as for a client that stops reading.
 * @throws TypeError `SLUICE_ACQUIRE_NEEDED` without a response, because there is no end to wait for.
 */
export function holdUntilClosed(
  core: LimiterCore,
  decision: Decision,
  request: RawRequest,
  response: RawResponse | undefined,
  maxSlotMs: number,
): void {
  const held = findSlots(core, decision);
  if (held === undefined) return;
  if (response === undefined) {
    void held.release();
    throw typeError(
      'SLUICE_ACQUIRE_NEEDED',
      'a concurrency policy holds slots until the response ends, and this call has no response: use limiter.acquire(key), or wrap a fetch handler with handle(handler)',
    );
  }
  if (hasEnded(request, response)) {
    void held.release();
    return;
  }
  const end = (): void => {
    stopListening();
    stopRenewing();
    stopTimer(timer);
    void held.release();
  };
  const endMs = performance.now() + maxSlotMs;
  const check = (): void => {
    const leftMs = endMs - performance.now();
    if (leftMs > 0 && !hasEnded(request, response)) {
      timer = startTimer(Math.ceil(Math.min(leftMs, held.ttlMs / CHECKS_PER_TTL)), check);
      return;
    }
    if (!hasEnded(request, response)) {
      const what = `${who} still runs after maxSlotMs, ${String(maxSlotMs)} ms: its slot was released, so another request may run at the same time`;
      warnOnce('SLUICE_SLOT_TIMEOUT', `${what}. If requests may take that long, set a longer maxSlotMs.`, core.name);
    }
    end();
  };
  let timer: Timer | undefined;
  const who = `a request of the limiter ${shown(core.name)}`;
  const stopRenewing = keepRenewing(held, () => {
    const what = `${who} continues without its slot, which another request may now hold`;
    warnOnce('SLUICE_SLOT_LOST', `${what}: the slot was not renewed within its ttl, or the store lost it.`, core.name);
  });
  const stopListening = onClose(request, response, end);
  check();
}

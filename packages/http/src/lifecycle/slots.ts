import type { Decision } from '@sluice/core';
import { typeError, keepRenewing, releaseWithRetry, type LimiterCore, warnOnce } from '@sluice/core/spi';
import { hasEnded, onClose } from './disconnect.ts';
import { NO_RESPONSE, type RawRequest, type RawResponse } from '../framework.ts';

/** How long a client may leave what it was sent unread before another request gets its slot. */
const UNREAD_MS = 60_000;

/**
 * Holds the slots of a decision, if it has any, until the response ends in any way, and renews them until then. If
 * the response has already ended, releases them immediately. Releases them as well once the client has read nothing for
 * a minute of what waits for it, as far as HTTP/1 shows that.
 *
 * @param maxSlotMs - Releases them after this time even if the response goes on.
 * @throws TypeError `SLUICE_ACQUIRE_NEEDED` without a response, because there is no end to wait for.
 */
export function holdUntilClosed(
  core: LimiterCore,
  decision: Decision,
  request: RawRequest,
  response: RawResponse,
  maxSlotMs: number,
): void {
  const slots = decision.allowed ? core.settlements.slotsOf(decision) : undefined;
  if (slots === undefined) return;
  const release = (): void => {
    void releaseWithRetry(slots);
  };
  if (response === NO_RESPONSE) {
    release();
    throw typeError(
      'SLUICE_ACQUIRE_NEEDED',
      'a concurrency policy holds slots until the response ends, and this call has no response: use limiter.acquire(key), return the response from responseOf(context) of the guard, or wrap a fetch handler with handle(handler)',
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
  const endMs = performance.now() + maxSlotMs;
  const lost = (): void => {
    warnOfLoss(core.name);
  };
  const isUnread = unreadFor(UNREAD_MS, request);
  const stopRenewing = keepRenewing(slots, lost, endMs, () => {
    if (hasEnded(request, response)) {
      end();
    } else if (isUnread()) {
      end();
      warnOfUnread(core.name);
    } else if (performance.now() >= endMs) {
      end();
      warnOfTimeout(core.name, maxSlotMs);
    }
  });
  const stopListening = onClose(request, response, end);
}

/** Says, when it is asked again and again, whether bytes have waited for a client so long of which none was read. */
function unreadFor(ms: number, { socket }: RawRequest): () => boolean {
  let [seenBytes, sinceMs] = [socket?.bytesWritten, performance.now()];
  return () => {
    const { bytesWritten, writableLength = 0 } = socket ?? {};
    if (writableLength > 0 && bytesWritten === seenBytes) return performance.now() - sinceMs >= ms;
    [seenBytes, sinceMs] = [bytesWritten, performance.now()];
    return false;
  };
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_SLOT_LOST',
    `a request of the limiter ${name} continues without its slot, which another request may hold now: the slot was not renewed within its ttl, or the store lost it.`,
    name,
  );
}

function warnOfUnread(limiter: string): void {
  warnOnce(
    'SLUICE_SLOT_TIMEOUT',
    `a client of the limiter ${limiter} has read nothing of its response for ${String(UNREAD_MS)} ms, and its slot was released: ` +
      'another request may run beside it. Drop clients that do not read.',
    `${limiter} unread`,
  );
}

function warnOfTimeout(name: string, maxSlotMs: number): void {
  warnOnce(
    'SLUICE_SLOT_TIMEOUT',
    `a request of the limiter ${name} still runs after maxSlotMs, ${String(maxSlotMs)} ms, and its slot was released: another request may run beside it. ` +
      'If requests may take that long, set a longer maxSlotMs; else end them, or drop clients that do not read.',
    name,
  );
}

import type { Decision } from '@sluice/old-core';
import { typeError, keepRenewing, releaseWithRetry, type LimiterCore, warnOnce } from '@sluice/old-core/spi';
import { hasEnded, onClose } from './disconnect.ts';
import { NO_RESPONSE, type RawRequest, type RawResponse } from '../framework.ts';

/**
 * How long a client may leave what it was sent unread before another request gets its slot. Networks take an answer in
 * pieces of up to a megabyte, so that a client of 8 kB a second must not look still.
 */
const UNREAD_MS = 180_000;

/**
 * Holds the slots of a decision, if it has any, until the response ends in any way, and renews them until then. If
 * the response has already ended, releases them immediately. Releases them as well once the client has read nothing for
 * three minutes of what waits for it, as far as HTTP/1 shows that.
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
      'a concurrency policy holds slots until the response ends, and this call has no response: use limiter.acquire(key), or wrap a fetch handler with handle(handler)',
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
  let [seen, sinceMs] = [unreadOf(socket), performance.now()];
  return () => {
    const now = unreadOf(socket);
    if (now !== undefined && now.passedOn === seen?.passedOn && now.queued === seen.queued) {
      return performance.now() - sinceMs >= ms;
    }
    [seen, sinceMs] = [now, performance.now()];
    return false;
  };
}

interface Unread {
  /** Bytes that have left the stream: what the application writes meanwhile does not count. */
  readonly passedOn: number;
  /** Bytes that the system has not taken yet, of the piece that is being sent. */
  readonly queued: number;
}

/** The handle of a socket, which Node does not document: its own timeout of idle sockets reads it too. */
interface Handle {
  readonly writeQueueSize?: number;
  /** Below TLS. */
  readonly _parent?: Handle | null;
}

/** Undefined where nothing waits for the client, or where that is not known. */
function unreadOf(socket: RawRequest['socket']): Unread | undefined {
  const { bytesWritten, writableLength, _handle } = (socket ?? {}) as {
    readonly bytesWritten?: number;
    readonly writableLength?: number;
    readonly _handle?: Handle | null;
  };
  const queued = _handle?._parent?.writeQueueSize ?? _handle?.writeQueueSize;
  if (bytesWritten === undefined || writableLength === undefined || !queued) return undefined;
  return { passedOn: bytesWritten - writableLength, queued };
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

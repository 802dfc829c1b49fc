import { shown, typeError } from '../../errors.ts';
import type { LimiterCore } from '../../limiter/core.ts';
import type { Decision } from '../../limiter/decision.ts';
import { heldBy, keepRenewing } from '../../limiter/slots.ts';
import { startTimer, stopTimer, type Timer } from '../../platform.ts';
import { warnOnce } from '../../warnings.ts';
import type { RawRequest, RawResponse } from '../framework.ts';
import { hasEnded, onClose } from './disconnect.ts';

/**
 * How long a client may leave what it was sent unread before another request gets its slot. Networks take an answer in
 * pieces of up to a megabyte, so that a client of 8 kB a second must not look still.
 */
const UNREAD_MS = 180_000;
/** Node 20 closes some streams of HTTP/2 without an event, so a response that holds slots is looked at from time to time. */
const CHECKS_PER_TTL = 3;

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
  response: RawResponse | undefined,
  maxSlotMs: number,
): void {
  const held = heldBy(core, decision);
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
  const isUnread = unreadFor(UNREAD_MS, request);
  const check = (): void => {
    const leftMs = endMs - performance.now();
    if (leftMs > 0 && !hasEnded(request, response) && !isUnread()) {
      timer = startTimer(Math.ceil(Math.min(leftMs, held.ttlMs / CHECKS_PER_TTL)), check);
      return;
    }
    if (!hasEnded(request, response)) {
      const [ms, why] =
        leftMs > 0 ? [UNREAD_MS, 'has a client that has read nothing for'] : [maxSlotMs, 'still runs after maxSlotMs,'];
      const effect = 'its slot was released, so another request may run at the same time';
      const instead = 'If requests may take that long, set a longer maxSlotMs; drop clients that do not read.';
      warnOnce('SLUICE_SLOT_TIMEOUT', `${who} ${why} ${String(ms)} ms: ${effect}. ${instead}`, core.name);
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

/** Tells, asked again and again, whether for so long bytes have waited for a client of which it read none. */
function unreadFor(ms: number, { socket }: RawRequest): () => boolean {
  let [seen, sinceMs] = [readUnread(socket), performance.now()];
  return () => {
    const now = readUnread(socket);
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

/** Undefined if nothing waits for the client, or if that is not known. */
function readUnread(socket: RawRequest['socket']): Unread | undefined {
  const { bytesWritten, writableLength, _handle } = (socket ?? {}) as {
    readonly bytesWritten?: number;
    readonly writableLength?: number;
    readonly _handle?: Handle | null;
  };
  const queued = _handle?._parent?.writeQueueSize ?? _handle?.writeQueueSize;
  if (bytesWritten === undefined || writableLength === undefined || !queued) return undefined;
  return { passedOn: bytesWritten - writableLength, queued };
}

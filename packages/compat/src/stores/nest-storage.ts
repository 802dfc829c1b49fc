import { fixedWindow, memoryStore, type Decision } from '@sluice/core';
import {
  makePeerLimiter,
  roundLimit,
  roundMs,
  wholeSeconds,
  writeMs,
  type CallLimiter,
  type PeerStoreOptions,
} from '../call-limiter.ts';

/** The storage's answer to the guard. Times are in seconds, rounded up. */
export interface ThrottlerRecord {
  totalHits: number;
  /** Until the window ends. */
  timeToExpire: number;
  isBlocked: boolean;
  /** Until the key is allowed again; 0 if it is not blocked. */
  timeToBlockExpire: number;
}

/**
 * A storage for `@nestjs/throttler`, on a Sluice store (by default, its own memory store): each hit is one atomic call,
 * by that store's clock, and so is the block of a key that exceeds its limit. A `blockDuration` below `ttl` takes a
 * second call when the block begins.
 *
 * @throws PolicyError for an invalid name or option.
 */
export class NestStorage {
  readonly #limiter: CallLimiter;

  constructor(options: Partial<PeerStoreOptions> = {}) {
    this.#limiter = makePeerLimiter(options, 'new NestStorage', { store: memoryStore(), name: 'throttler' });
  }

  /**
   * Counts a hit, or none while the key is blocked.
   *
   * @param ttl - The length of a window, in milliseconds, which begins at the first hit.
   * @param blockDuration - How long a key that exceeds the limit is blocked, in milliseconds; 0: until its window ends.
   * @param throttlerName - Throttlers with other names count separately.
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const [ttlMs, units] = [roundMs(ttl), roundLimit(limit)];
    const blockMs = blockDuration > 0 ? roundMs(blockDuration) : 0;
    const want = this.#limiter.want(`${throttlerName} ${key}`, [ttlMs, units, blockMs], () =>
      // A shorter block ends before the window, which then has to start afresh.
      fixedWindow({ limit: units, window: writeMs(ttlMs), ...(blockMs >= ttlMs && { blockFor: writeMs(blockMs) }) }),
    );
    const decision = await this.#limiter.decide('take', [want]);
    if (decision.outcome !== 'denied' || blockMs === 0) return makeRecord(decision, decision.retryAfterMs ?? ttlMs);
    await this.#limiter.edit('block', want, blockMs);
    return makeRecord(decision, blockMs);
  }

  /** Called by NestJS when the application ends: leaves the store, and closes it if nothing else uses it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#limiter.close();
  }
}

/** The hit that exceeds the limit is the last one counted. */
function makeRecord({ allowed, limit, resetAfterMs, used }: Decision, waitMs: number): ThrottlerRecord {
  return {
    totalHits: allowed ? used : limit + 1,
    timeToExpire: wholeSeconds(allowed ? resetAfterMs : Math.min(resetAfterMs, waitMs)),
    isBlocked: !allowed,
    timeToBlockExpire: allowed ? 0 : wholeSeconds(waitMs),
  };
}

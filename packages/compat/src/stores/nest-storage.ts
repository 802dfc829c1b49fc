import { fixedWindow, memoryStore, type Decision, type Limit, type PolicyDecision, type Store } from '@sluice/old-core';
import { LimiterCore, encodeSubject, namePolicies } from '@sluice/old-core/spi';
import { millisecondsWithin, secondsOf, unitsWithin, windowWithin } from '../hits/bounds.ts';

/** What the storage tells the guard. Times are in seconds, rounded up. */
export interface ThrottlerRecord {
  totalHits: number;
  /** Until the window ends. */
  timeToExpire: number;
  isBlocked: boolean;
  /** Until the key is allowed again; 0 where it is not blocked. */
  timeToBlockExpire: number;
}

export interface NestStorageOptions {
  /** Where hits are counted: `redisStore(...)`, or any other store of Sluice. Default: a memory of its own. */
  readonly store?: Store;
  /** The name of the limiter: part of keys, and in metrics. Default `'throttler'`. */
  readonly name?: string;
  /** While the store fails: the error of the peer, or counts in this process's memory. Default `'throw'`. */
  readonly onStoreError?: 'throw' | 'local';
  /** The longest a hit waits for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

/** Limits are made once; an application has few. */
const MOST_LIMITS = 256;
/** What can be the name of a policy. Any other is a part of the key. */
const NAME = /^[A-Za-z][\w.-]{0,63}$/;

/**
 * A storage for `@nestjs/throttler`, on a store of Sluice: each hit is one atomic call, by the clock of that store, and
 * so is the block of a key that exceeds its limit. A `blockDuration` below `ttl` takes a second call when the block
 * begins.
 *
 * @throws PolicyError for an invalid name or option.
 */
export class NestStorage {
  readonly #core: LimiterCore;
  readonly #limits = new Map<string, Limit>();

  constructor(options: NestStorageOptions = {}) {
    const { store = memoryStore(), name = 'throttler', onStoreError = 'throw', timeoutMs } = options;
    this.#core = new LimiterCore({ store, name, shared: true, onStoreError, timeoutMs, denialCache: false });
    this.#core.claim();
  }

  /**
   * Counts a hit, or none while the key is blocked.
   *
   * @param ttl - The length of a window, in milliseconds, which begins at the first hit.
   * @param blockDuration - How long a key is blocked that exceeds the limit, in milliseconds.
   * @param throttlerName - Throttlers of other names count apart.
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const blockMs = millisecondsWithin(blockDuration);
    const isName = NAME.test(throttlerName);
    const text = isName ? key : `${throttlerName} ${key}`;
    const limits = this.#limitOf(millisecondsWithin(ttl), limit, blockMs, isName ? throttlerName : 'other');
    const part = { limit: limits, subject: encodeSubject(text), key: text };
    const decision = await this.#core.consume(part.limit, part.subject, 1, text);
    if (decision.outcome !== 'denied') return recordOf(decision, decision.retryAfterMs);
    // The window would go on after the block.
    await this.#core.edit([{ op: 'block', part: { ...part, cost: 0 }, durationMs: blockMs, reset: true }]);
    return recordOf(decision, blockMs);
  }

  /** Called by NestJS when the application ends: leaves the store, and closes it where nothing else uses it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#core.close();
  }

  #limitOf(ttlMs: number, limit: number, blockMs: number, throttler: string): Limit {
    const id = `${String(ttlMs)}|${String(limit)}|${String(blockMs)}|${throttler}`;
    const known = this.#limits.get(id);
    if (known !== undefined) return known;
    const made = this.#made(ttlMs, limit, blockMs, throttler);
    if (this.#limits.size >= MOST_LIMITS) this.#limits.clear();
    this.#limits.set(id, made);
    return made;
  }

  #made(ttlMs: number, limit: number, blockMs: number, throttler: string): Limit {
    const policy = fixedWindow({
      limit: unitsWithin(limit),
      window: windowWithin(ttlMs),
      name: throttler,
    });
    const window = this.#core.limits.of(namePolicies(policy, this.#core.name));
    if (blockMs < ttlMs) return window;
    // The hit that exceeds the limit blocks the key in the same call.
    const escalation = Object.freeze({ after: 1, blocksMs: Object.freeze([blockMs]), decayMs: 1 });
    const fallback = window.fallback && { ...window.fallback, escalation, fastPathEligible: false };
    return { ...window, escalation, fastPathEligible: false, ...(fallback && { fallback }) };
  }
}

/** The hit that exceeds the limit is the last one that counts. */
function recordOf({ allowed, policies, used }: Decision, blockedMs: number | null): ThrottlerRecord {
  const { limit, resetAfterMs } = policies[0] as PolicyDecision; // there is one
  const untilAllowedMs = allowed ? 0 : (blockedMs ?? resetAfterMs);
  return {
    totalHits: allowed ? used : limit + 1,
    timeToExpire: secondsOf(allowed ? resetAfterMs : Math.min(resetAfterMs, untilAllowedMs)),
    isBlocked: !allowed,
    timeToBlockExpire: secondsOf(untilAllowedMs),
  };
}

import { systemClock, type Clock } from '../../clock.ts';
import { PolicyError, shown } from '../../errors.ts';
import { checkOptions } from '../../values/check-options.ts';
import type { Decision } from '../../engine/decision.ts';
import { evaluate } from '../../engine/evaluate.ts';
import type { Limit, Part, PartAnswer, Store, StoreAnswer, StoreRequest } from '../../engine/store.ts';
import type { Entry } from './entry.ts';
import { Keys } from './keys.ts';
import { consumeOne } from './consume-one.ts';

export interface MemoryStoreOptions {
  /** Keys remembered at once, at least 1. Default 100 000. */
  maxKeys?: number;
  /**
   * The source of the time, in milliseconds: an object with `now()`, such as `Date`, or a function. Default: the
   * monotonic clock.
   */
  clock?: Clock | (() => number);
}

/** A store in this process's memory. */
export interface MemoryStore extends Store {
  readonly source: 'memory';
  take(limit: Limit, subject: string, cost: number): Decision | undefined;
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  /** Keys and overflow buckets held at present, including those that have ended but are not removed yet. */
  readonly size: number;
}

const DEFAULT_MAX_KEYS = 100_000;
/**
 * The default store: this process's memory, with the same kernels, the same decisions and the same laws as Redis.
 *
 * It remembers at most `maxKeys` keys. When it is full, a new key replaces the least recently used one, never one
 * that is being denied, so that a flood of new keys frees no denied key. Once half of `maxKeys` are being denied, new
 * keys share 1024 hashed overflow buckets per limiter, and the store warns with code `SLUICE_MEMORY_SATURATED`. See
 * docs/adr/0005-memory-store.md.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions(options, ['maxKeys', 'clock'], 'memoryStore');
  const { maxKeys = DEFAULT_MAX_KEYS, clock = systemClock } = options;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new PolicyError(
      'maxKeys',
      `maxKeys must be a whole number, at least 1, got ${shown(maxKeys)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  // now() is checked first because Date is a function too.
  const hasNow = typeof (clock as Partial<Clock> | null)?.now === 'function';
  if (!hasNow && typeof clock !== 'function') {
    throw new PolicyError(
      'clock',
      `clock must be an object with now() or a function, in milliseconds, got ${shown(clock)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return new BoundedMemoryStore(maxKeys, hasNow ? () => (clock as Clock).now() : (clock as () => number));
}

class BoundedMemoryStore implements MemoryStore {
  readonly source = 'memory';
  readonly #now: () => number;
  readonly #keys: Keys;

  constructor(maxKeys: number, now: () => number) {
    this.#keys = new Keys(maxKeys);
    this.#now = now;
  }

  get size(): number {
    return this.#keys.size;
  }

  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[] {
    const nowMs = Math.floor(this.#now());
    if (!Number.isSafeInteger(nowMs)) throw new RangeError(`the clock must return milliseconds, got ${shown(nowMs)}`);
    return requests.map((request) => this.#performOne(request, nowMs));
  }

  take(limit: Limit, subject: string, cost: number): Decision | undefined {
    if (limit.policies.length !== 1) return undefined;
    const nowMs = Math.floor(this.#now());
    if (!Number.isSafeInteger(nowMs)) return undefined;
    return consumeOne(this.#keys, limit, subject, cost, nowMs);
  }

  #performOne(request: StoreRequest, nowMs: number): StoreAnswer {
    if (request.op === 'release' || request.op === 'renew') return this.#performOnSlot(request, nowMs);
    const keys = this.#keys;
    const parts = 'parts' in request ? request.parts : [request.part];
    // An edit changes the key itself, never an overflow bucket, because other keys consumed units of that bucket too.
    // A charge goes where units are consumed.
    const ownOnly = request.op !== 'consume' && request.op !== 'peek' && request.op !== 'charge';
    const entries: Entry[] = [];
    for (const part of parts) entries.push(keys.find(part, entries, ownOnly, nowMs));
    const { answer, changed } = evaluate(request, entries, nowMs);
    for (let i = 0; i < parts.length; i++) {
      const entry = entries[i] as Entry;
      if (request.op === 'reset') entry.deniedUntilMs = 0;
      if (changed || entry.touched) keys.keep(entry, (parts[i] as Part).limit, nowMs);
      if (request.op === 'consume' && answer.stale === undefined) {
        const retryAfterMs = longestWaitMs(answer.parts[i] as PartAnswer);
        if (retryAfterMs > 0) keys.recordDenial(entry, retryAfterMs, nowMs);
      }
    }
    for (let i = 0; i < parts.length; i++) keys.pack(entries[i] as Entry, (parts[i] as Part).limit);
    return answer;
  }

  /**
   * Releases or renews a slot where it was acquired: under its own key, or in an overflow bucket. The holder
   * identifies it.
   */
  #performOnSlot(request: Extract<StoreRequest, { op: 'release' | 'renew' }>, nowMs: number): StoreAnswer {
    const { part } = request;
    let last: StoreAnswer = { atMs: nowMs, parts: [], held: false };
    for (const entry of [this.#keys.own(part), this.#keys.bucketOf(part)]) {
      if (entry === undefined) continue;
      const { answer, changed } = evaluate(request, [entry], nowMs);
      if (changed || entry.touched) this.#keys.keep(entry, part.limit, nowMs);
      this.#keys.pack(entry, part.limit);
      if (changed || answer.held === true || answer.stale !== undefined) return answer;
      last = answer;
    }
    return last;
  }
}

/** How long a part is denied. A cost that can never fit is ignored because it does not depend on the key. */
function longestWaitMs({ policies }: PartAnswer): number {
  let longestMs = 0;
  for (const { allowed, retryAfterMs } of policies) {
    if (!allowed && retryAfterMs !== null && retryAfterMs > longestMs) longestMs = retryAfterMs;
  }
  return longestMs;
}

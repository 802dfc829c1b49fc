import { systemClock, type Clock } from '../../clock.ts';
import { PolicyError, shown } from '../../errors.ts';
import { checkOptions } from '../../options.ts';
import type { Refusals } from '../escalation.ts';
import { evaluate, isUnused, keyResetAtMs, slotsEndAtMs, type KeyState } from '../evaluate.ts';
import type { Limit, Part, PartAnswer, Store, StoreAnswer, StoreRequest } from '../store.ts';
import { warnOnce } from '../../warnings.ts';
import { RefusedKeys } from './refused-keys.ts';
import { UseOrder, type Linked } from './use-order.ts';

export interface MemoryStoreOptions {
  /** Keys remembered at once, at least 1. Default 100 000. */
  maxKeys?: number;
  /**
   * What tells the time, in milliseconds: an object with `now()`, such as `Date`, or a function. Default: the monotonic
   * clock.
   */
  clock?: Clock | (() => number);
}

/** A store in this process's memory. */
export interface MemoryStore extends Store {
  readonly source: 'memory';
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  /** Keys and overflow buckets held at present, those included that are over but not yet reclaimed. */
  readonly size: number;
}

/**
 * Where an entry is kept: not yet, among the keys that may be evicted, among those being refused, or in a bucket that
 * several keys share.
 */
type Place = 'nowhere' | 'keys' | 'refused' | 'overflow';

class Entry implements KeyState, Linked<Entry> {
  readonly key: string;
  readonly shared: boolean;
  place: Place = 'nowhere';
  blockedUntilMs = 0;
  states: readonly unknown[];
  version = 0;
  refusals: Refusals | undefined = undefined;
  touched = false;
  /** From then on it is as if never used. */
  resetAtMs = 0;
  /** Until then the last cost that was refused stays refused, as far as is known. */
  refusedUntilMs = 0;
  /** Until then slots are held: who forgets them gives them to others. */
  heldUntilMs = 0;
  older: Entry | undefined;
  newer: Entry | undefined;

  constructor(key: string, shared: boolean, { policies }: Limit) {
    this.key = key;
    this.shared = shared;
    this.states = policies.map(() => undefined);
  }
}

const DEFAULT_MAX_KEYS = 100_000;
const OVERFLOW_BUCKETS = 1_024;
/** The upper ten bits of a hash: they depend on all of the seed, the lower ones on its lower ones alone. */
const BUCKET_SHIFT = 22;
/** How long a key is kept that is over: a clock that steps back finds what it left. */
const KEPT_MS = 60_000;
/** Keys looked at for being over, at every charge, so that garbage goes while there is traffic. */
const SWEPT_PER_CHARGE = 2;
/** Refusals that are let go at a time, however many end together: nobody waits for more. */
const RELEASED_AT_ONCE = 100;

/**
 * The default store: this process's memory, with the same kernels, the same decisions and the same laws as Redis.
 *
 * It remembers at most `maxKeys` keys. When it is full, a new key takes the place of the one that was not used for the
 * longest time, never of one that is being refused: a flood of new keys frees nobody. Once half of `maxKeys` are being
 * refused, new keys share 1024 hashed overflow buckets per limiter, and a warning with code `SLUICE_MEMORY_SATURATED`
 * says so. See docs/adr/0005-memory-store.md.
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
  // Asked for now() first: Date is a function too.
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
  readonly #maxKeys: number;
  readonly #now: () => number;
  /** Keys that may be evicted. */
  readonly #keys = new Map<string, Entry>();
  readonly #order = new UseOrder<Entry>();
  readonly #refused = new RefusedKeys<Entry>();
  readonly #overflow = new Map<string, Entry>();
  readonly #overflowOrder = new UseOrder<Entry>();
  readonly #seed = Math.floor(Math.random() * 2 ** 32);

  constructor(maxKeys: number, now: () => number) {
    this.#maxKeys = maxKeys;
    this.#now = now;
  }

  get size(): number {
    return this.#keys.size + this.#refused.size + this.#overflow.size;
  }

  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[] {
    const nowMs = Math.floor(this.#now());
    if (!Number.isSafeInteger(nowMs)) throw new RangeError(`the clock must tell milliseconds, got ${shown(nowMs)}`);
    return requests.map((request) => this.#performOne(request, nowMs));
  }

  #performOne(request: StoreRequest, nowMs: number): StoreAnswer {
    if (request.op === 'release' || request.op === 'renew') return this.#performOnSlot(request, nowMs);
    const parts = 'parts' in request ? request.parts : [request.part];
    // An edit means the key itself, not those that share a bucket with it: what they took is not its to give back. What
    // is charged goes where units are taken.
    const ownOnly = request.op !== 'consume' && request.op !== 'peek' && request.op !== 'charge';
    const entries: Entry[] = [];
    for (const part of parts) entries.push(this.#find(part, entries, ownOnly, nowMs));
    const { answer, changed } = evaluate(request, entries, nowMs);
    for (let i = 0; i < parts.length; i++) {
      const entry = entries[i] as Entry;
      if (request.op === 'reset') entry.refusedUntilMs = 0;
      if (changed || entry.touched) this.#keep(entry, (parts[i] as Part).limit, nowMs);
      if (request.op === 'consume' && answer.stale === undefined) {
        this.#noteRefusal(entry, answer.parts[i] as PartAnswer, nowMs);
      }
    }
    return answer;
  }

  /** A slot lies where it was taken: under its own key, or in a bucket. Its holder tells whose it is. */
  #performOnSlot(request: Extract<StoreRequest, { op: 'release' | 'renew' }>, nowMs: number): StoreAnswer {
    const { subject, limit } = request.part;
    const key = subject + limit.scope;
    const own = this.#keys.get(key) ?? this.#refused.get(key);
    const bucket = this.#overflow.get(this.#bucketKeyOf(key, limit));
    let last: StoreAnswer = { atMs: nowMs, parts: [], held: false };
    for (const entry of [own, bucket]) {
      if (entry === undefined) continue;
      const { answer, changed } = evaluate(request, [entry], nowMs);
      if (changed || entry.touched) this.#keep(entry, limit, nowMs);
      if (changed || answer.held === true || answer.stale !== undefined) return answer;
      last = answer;
    }
    return last;
  }

  #find({ subject, limit }: Part, found: readonly Entry[], ownOnly: boolean, nowMs: number): Entry {
    const key = subject + limit.scope;
    const known = this.#keys.get(key) ?? this.#refused.get(key) ?? found.find((entry) => entry.key === key);
    if (known !== undefined) {
      if (known.place === 'keys') this.#order.use(known);
      return known;
    }
    if (ownOnly || !this.#isSaturated(nowMs)) return new Entry(key, false, limit);
    const bucket = this.#bucketKeyOf(key, limit);
    return this.#overflow.get(bucket) ?? found.find((entry) => entry.key === bucket) ?? new Entry(bucket, true, limit);
  }

  /** Puts a changed entry where it belongs. What is as if never used takes no room. */
  #keep(entry: Entry, limit: Limit, nowMs: number): void {
    this.#sweep(nowMs);
    entry.touched = false;
    if (isUnused(entry)) {
      this.#drop(entry);
      return;
    }
    entry.resetAtMs = keyResetAtMs(limit, entry);
    if (entry.place === 'nowhere') this.#add(entry);
    entry.heldUntilMs = slotsEndAtMs(limit, entry);
    if (entry.place === 'refused' || entry.blockedUntilMs > nowMs || entry.heldUntilMs > nowMs) this.#pin(entry);
  }

  #noteRefusal(entry: Entry, { policies }: PartAnswer, nowMs: number): void {
    let longestMs = 0;
    for (const { allowed, retryAfterMs } of policies) {
      // A cost that can never fit says nothing about the key.
      if (!allowed && retryAfterMs !== null && retryAfterMs > longestMs) longestMs = retryAfterMs;
    }
    if (longestMs === 0) return;
    entry.refusedUntilMs = Math.max(entry.refusedUntilMs, nowMs + longestMs);
    this.#pin(entry);
  }

  /** Puts an entry among those being refused, for as long as its policies or a block refuse it, or slots of it are held. */
  #pin(entry: Entry): void {
    if (entry.place !== 'keys' && entry.place !== 'refused') return;
    if (entry.place === 'keys') this.#drop(entry);
    entry.place = 'refused';
    this.#refused.set(entry, Math.max(entry.refusedUntilMs, entry.blockedUntilMs, entry.heldUntilMs));
  }

  #add(entry: Entry): void {
    if (entry.shared) {
      this.#overflow.set(entry.key, entry);
      this.#overflowOrder.add(entry);
      entry.place = 'overflow';
      return;
    }
    const { oldest } = this.#order;
    if (this.#keys.size + this.#refused.size >= this.#maxKeys && oldest !== undefined) this.#drop(oldest);
    this.#remember(entry);
  }

  #remember(entry: Entry): void {
    this.#keys.set(entry.key, entry);
    this.#order.add(entry);
    entry.place = 'keys';
  }

  #drop(entry: Entry): void {
    switch (entry.place) {
      case 'keys':
        this.#keys.delete(entry.key);
        this.#order.delete(entry);
        break;
      case 'refused':
        this.#refused.delete(entry.key);
        break;
      case 'overflow':
        this.#overflow.delete(entry.key);
        this.#overflowOrder.delete(entry);
        break;
      case 'nowhere':
    }
    entry.place = 'nowhere';
  }

  /** Whether half of all keys are being refused, not counting those whose refusal is over. */
  #isSaturated(nowMs: number): boolean {
    for (let i = 0; this.#refused.size * 2 >= this.#maxKeys; i++) {
      // So many are over that the rest can wait for the next newcomers.
      if (i === RELEASED_AT_ONCE) return false;
      if (this.#release(nowMs)) continue;
      warnOnce(
        'SLUICE_MEMORY_SATURATED',
        `Half of the ${String(this.#maxKeys)} keys of a memory store are being refused. New keys share ${String(OVERFLOW_BUCKETS)} overflow buckets per limiter until that ends: ` +
          'raise maxKeys, or keep this limit in Redis.',
      );
      return true;
    }
    return false;
  }

  /** Lets go of a key whose refusal is over, if there is one. */
  #release(nowMs: number): boolean {
    const entry = this.#refused.release(nowMs);
    if (entry === undefined) return false;
    entry.refusedUntilMs = 0;
    entry.place = 'nowhere';
    if (!isForgettable(entry, nowMs)) this.#remember(entry);
    return true;
  }

  #sweep(nowMs: number): void {
    for (let i = 0; i < SWEPT_PER_CHARGE; i++) {
      this.#release(nowMs);
      const entry = this.#order.walk();
      if (entry !== undefined && isForgettable(entry, nowMs)) this.#drop(entry);
    }
    const bucket = this.#overflowOrder.walk();
    if (bucket !== undefined && isForgettable(bucket, nowMs)) this.#drop(bucket);
  }

  #bucketKeyOf(key: string, { scope }: Limit): string {
    return `{${String(this.#bucketOf(key))}}${scope}`; // no subject holds a brace
  }

  /** FNV-1a, seeded per store so that nobody outside can choose who shares a bucket with whom. */
  #bucketOf(key: string): number {
    let hash = this.#seed;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 16_777_619);
    return hash >>> BUCKET_SHIFT;
  }
}

function isForgettable({ resetAtMs }: Entry, nowMs: number): boolean {
  return resetAtMs + KEPT_MS <= nowMs;
}

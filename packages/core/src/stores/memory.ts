import { StoreError, shown } from '../errors.ts';
import { makeLocalClock, type Clock } from '../platform.ts';
import { BLOCKED, RETRY_AFTER } from '../program/decide.ts';
import { limitUntil } from '../program/window.ts';
import {
  optional,
  readOptions,
  valueThat,
  wholeNumber,
  withDefault,
  type Optional,
  type Options,
  type WithDefault,
} from '../values/shape.ts';
import { readEnd, KEPT_MS, perform, type Held } from './perform.ts';
import type { Answer, Ask, Figures, Op, Store } from './store.ts';

const MEMORY = {
  /**
   * The maximum number of keys, from 1 to 16 million. A limiter with three policies has three keys per client. Default
   * `100_000`.
   */
  maxKeys: withDefault(wholeNumber(1, 16_000_000), 100_000) as WithDefault<number>,
  /**
   * An object whose `now()` returns milliseconds since 1970, like `Date`. Default: the system clock, without its jumps.
   */
  clock: optional(valueThat<Clock>(isClock, 'an object with now(), in milliseconds')) as Optional<Clock>,
};

export interface MemoryStoreOptions extends Options<typeof MEMORY> {}

/** A store in the memory of this process. */
export interface MemoryStore extends Store {
  readonly source: 'memory';
  perform(op: Op, asks: readonly Ask[]): Answer;
  /** The number of keys held now, including those that have ended but have not been removed yet. */
  readonly size: number;
  /** Forgets every key, blocks and slots included: for tests. */
  clear(): void;
  /** Internal: the result of {@link limitUntil} for the fixed window of a key. */
  limitUntil(key: string, endMs: number): number;
}

/**
 * The default store: the memory of this process. It decides like every other store.
 *
 * It holds at most `maxKeys` keys. If there are more, it forgets keys that have not been used for a while, but never
 * one that is denied or blocked while these are at most a quarter of `maxKeys`. So a flood of new keys does not free a
 * denied client, and denied keys do not keep new clients out. Ended keys are removed gradually as requests come in.
 *
 * @throws PolicyError for an invalid or unknown option.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxKeys, clock } = readOptions(options, MEMORY, 'memoryStore');
  return new BoundedStore(maxKeys, clock ?? makeLocalClock());
}

/** After this many requests, the walk over old keys goes on by a third as many keys. */
const REQUESTS_PER_WALK = 21;
const REQUESTS_PER_KEY = 3;
/** It goes on by more than two for each key added meanwhile, so that keys are removed faster than new ones arrive. */
const KEYS_PER_ADDED = 2.5;

class BoundedStore implements MemoryStore {
  readonly source = 'memory';
  readonly #maxKeys: number;
  readonly #clock: Clock;
  readonly #keys = new Map<string, Held>();
  /** Until when keys are denied or blocked, as far as known; oldest first. */
  readonly #denied = new Map<string, number>();
  /** Walks over all keys, again and again. A new walk would have to skip all deleted entries at the front. */
  #walk: MapIterator<[string, Held]>;
  #requests = 0;
  /** How many keys there were when the walk last stopped. */
  #sizeBefore = 0;

  constructor(maxKeys: number, clock: Clock) {
    this.#maxKeys = maxKeys;
    this.#clock = clock;
    this.#walk = this.#keys.entries();
  }

  get size(): number {
    return this.#keys.size;
  }

  perform(op: Op, asks: readonly Ask[]): Answer {
    const now = Math.floor(this.#clock.now());
    if (!(now >= 0 && now <= Number.MAX_SAFE_INTEGER)) throw badTime(now);
    const answer = perform(this.#keys, op, asks, now, true);
    for (let i = 0; i < asks.length; i++) {
      const figures = answer.figures[i] as Figures;
      const deniedMs = Math.max(figures[RETRY_AFTER] as number, figures[BLOCKED] as number);
      if (deniedMs > 0) this.#protect((asks[i] as Ask).key, now + deniedMs);
    }
    if (++this.#requests >= REQUESTS_PER_WALK || this.#keys.size > this.#maxKeys) this.#trim(now);
    return answer;
  }

  clear(): void {
    for (const key of this.#keys.keys()) this.#drop(key);
  }

  limitUntil(key: string, endMs: number): number {
    const held = this.#keys.get(key);
    return held?.rule.kind === 'f' ? limitUntil(held.s, endMs) : Infinity;
  }

  /** Remembers until when a key is denied. */
  #protect(key: string, until: number): void {
    if ((this.#denied.get(key) ?? 0) < until && this.#keys.has(key)) this.#denied.set(key, until);
  }

  /** Keeps to `maxKeys`. */
  #trim(now: number): void {
    const added = Math.max(this.#keys.size - this.#sizeBefore, 0);
    const due = Math.min(this.#requests / REQUESTS_PER_KEY + added * KEYS_PER_ADDED, this.#keys.size);
    this.#requests = 0;
    if (this.#denied.size * 2 > this.#maxKeys) this.#trimDenied(now);
    for (let i = 0; i < due || this.#keys.size > this.#maxKeys; i++) {
      let step = this.#walk.next();
      if (step.done === true) {
        this.#walk = this.#keys.entries();
        step = this.#walk.next();
        if (step.done === true) break;
      }
      const [key, held] = step.value;
      if (readEnd(held) + KEPT_MS <= now) this.#drop(key);
      else if (held.isRecent === true) held.isRecent = false;
      else if (this.#keys.size > this.#maxKeys && (this.#denied.get(key) ?? 0) <= now) this.#drop(key);
    }
    this.#sizeBefore = this.#keys.size;
  }

  /**
   * If denied keys are more than half of `maxKeys`, frees them down to a quarter, so that this is rare: oldest first,
   * and blocked keys last, because an operator may have blocked them.
   */
  #trimDenied(now: number): void {
    for (const [key, until] of this.#denied) if (until <= now) this.#denied.delete(key);
    if (this.#denied.size * 2 <= this.#maxKeys) return;
    for (const sparesBlocked of [true, false]) {
      for (const key of this.#denied.keys()) {
        if (this.#denied.size <= Math.ceil(this.#maxKeys / 4)) return;
        if (!sparesBlocked || (this.#keys.get(key)?.blocked ?? 0) <= now) this.#drop(key);
      }
    }
  }

  #drop(key: string): void {
    const held = this.#keys.get(key);
    if (held !== undefined) held.isRecent = undefined;
    this.#keys.delete(key);
    this.#denied.delete(key);
  }
}

function isClock(given: unknown): boolean {
  return typeof (given as Partial<Clock> | null)?.now === 'function';
}

function badTime(now: number): StoreError {
  return new StoreError('SLUICE_STORE_FAILED', `the clock must return milliseconds since 1970, got ${shown(now)}`);
}

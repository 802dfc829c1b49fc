import { systemNow, type Clock } from '../../platform/clock.ts';
import { shown } from '../../errors.ts';
import { readOptions, valueThat, wholeNumber, type OptionTable, type SettingsOf } from '../../values/option.ts';
import { hasLongStates } from '../../engine/policy.ts';
import type { Fast, FastHost, FastStore } from '../../engine/fast.ts';
import { evaluate } from '../../engine/evaluate.ts';
import {
  withSnapshots,
  type Part,
  type PartAnswer,
  type Store,
  type StoreAnswer,
  type StoreRequest,
} from '../../engine/store.ts';
import type { Entry } from './entry.ts';
import { Keys } from './keys.ts';
import { MemoryFast } from './memory-fast.ts';

export interface MemoryStoreOptions {
  /** Keys held at once, at least 1; during a flood others are held in compact form. Default `100 000`. */
  maxKeys?: number;
  /**
   * The source of the time, in milliseconds: an object with `now()`, such as `Date`, or a function. Default: the
   * monotonic clock.
   */
  clock?: Clock | (() => number);
}

/** A store in this process's memory. */
export interface MemoryStore extends FastStore {
  readonly source: 'memory';
  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[];
  /** Keys held at present, also in compact form, including those that have ended but are not removed yet. */
  readonly size: number;
}

const OPTIONS: OptionTable<SettingsOf<MemoryStoreOptions>> = {
  maxKeys: wholeNumber(1, Infinity, 'a whole number, at least 1', 100_000),
  clock: valueThat<Clock | (() => number)>(
    (given) => hasNow(given) || typeof given === 'function',
    'an object with now() or a function, in milliseconds',
    systemNow,
  ),
};

/** Looked at first, because Date is a function too. */
function hasNow(clock: unknown): clock is Clock {
  return typeof (clock as Partial<Clock> | null)?.now === 'function';
}

/**
 * The default store: this process's memory, with the same kernels, the same decisions and the same laws as Redis.
 *
 * It holds at most `maxKeys` keys. When it is full, a new key replaces the least recently used one that is not being
 * denied. No client is denied because of the number of other clients.
 *
 * Keys that are being denied (or blocked, or hold slots) are held in full up to half of `maxKeys`. Beyond that, the
 * oldest ones of the limiter that has most of them become compact: each is a text under a keyed hash, still exact. At
 * least the last `maxKeys` of these are remembered (8192 where `maxKeys` is less), at most twice as many. So a flood
 * frees a denied key only if it gets one and a half times `maxKeys` keys denied meanwhile; it frees none of a limiter
 * that has less than its share, and ends no block by `block()`, of which half of `maxKeys` are held apart. The store
 * warns with code `SLUICE_MEMORY_SATURATED`. See docs/adr/0005-memory-store.md.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxKeys, clock } = readOptions(options, OPTIONS, 'memoryStore');
  return new BoundedMemoryStore(maxKeys, hasNow(clock) ? () => clock.now() : clock);
}

/** A memory store from inside, for what shows its states. */
export interface MemoryInside {
  readonly keys: Keys;
  /** The instant of a call. Throws RangeError for a clock that returns no time. */
  nowMs(): number;
  /** As `perform`. An answer that denies has snapshots, where no state is long. */
  perform(request: StoreRequest, nowMs: number): StoreAnswer;
}

/** Undefined for a store that is no memory store. */
export function insideOf(store: Store): MemoryInside | undefined {
  return BoundedMemoryStore.inside(store);
}

/**
 * Forgets all keys of these owners (see `ownerOf`), blocks and slots included.
 *
 * @returns False, with nothing changed, for a store that is no memory store.
 */
export function forgetKeys(store: Store, owners: readonly string[]): boolean {
  return BoundedMemoryStore.forget(store, owners);
}

class BoundedMemoryStore implements MemoryStore {
  readonly source = 'memory';
  readonly #now: () => number;
  readonly #keys: Keys;

  constructor(maxKeys: number, now: () => number) {
    this.#keys = new Keys(maxKeys);
    this.#now = now;
  }

  static inside(store: Store): MemoryInside | undefined {
    if (!(#keys in store)) return undefined;
    return {
      keys: store.#keys,
      nowMs: () => store.#nowMs(),
      perform: (request, nowMs) => store.#performOne(request, nowMs, true),
    };
  }

  static forget(store: Store, owners: readonly string[]): boolean {
    if (!(#keys in store)) return false;
    store.#keys.forget(owners);
    return true;
  }

  get size(): number {
    return this.#keys.size;
  }

  perform(requests: readonly StoreRequest[]): readonly StoreAnswer[] {
    const nowMs = this.#nowMs();
    return requests.map((request) => this.#performOne(request, nowMs, false));
  }

  fast({ receipts }: FastHost): Fast | undefined {
    if (!(#keys in this)) return undefined;
    return new MemoryFast(this.#keys, this.#now, receipts);
  }

  #nowMs(): number {
    const nowMs = Math.floor(this.#now());
    if (Number.isSafeInteger(nowMs)) return nowMs;
    throw new RangeError(`the clock must return milliseconds, got ${shown(nowMs)}`);
  }

  #performOne(request: StoreRequest, nowMs: number, showsDenied: boolean): StoreAnswer {
    const keys = this.#keys;
    const parts = 'parts' in request ? request.parts : [request.part];
    const entries: Entry[] = [];
    for (const part of parts) entries.push(keys.find(part, entries, nowMs));
    const { answer, changed } = evaluate(request, entries, nowMs);
    const snapshots =
      showsDenied && !parts.some(({ limit }) => hasLongStates(limit.policies))
        ? withSnapshots(answer, entries).snapshots
        : undefined;
    for (let i = 0; i < parts.length; i++) {
      const entry = entries[i] as Entry;
      if (request.op === 'reset' || (request.op === 'block' && request.reset === true)) entry.deniedUntilMs = 0;
      if (request.op === 'block') entry.blockedByHandUntilMs = entry.blockedUntilMs;
      if (changed || entry.touched) keys.keep(entry, (parts[i] as Part).limit, nowMs);
      if (request.op === 'consume' && answer.stale === undefined) {
        const retryAfterMs = longestWaitMs(answer.parts[i] as PartAnswer);
        if (retryAfterMs > 0) keys.recordDenial(entry, retryAfterMs, nowMs);
      }
    }
    for (let i = 0; i < parts.length; i++) keys.pack(entries[i] as Entry, (parts[i] as Part).limit);
    keys.trim(nowMs);
    return snapshots === undefined ? answer : { ...answer, snapshots };
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

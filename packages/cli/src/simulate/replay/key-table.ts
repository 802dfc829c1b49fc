import { ownText } from '@sluice/core/service';
import type { KeySpec } from '../keys/key-spec.ts';
import { addressKey } from '../keys/key-spec.ts';
import type { LogEntry } from '../read/log-entry.ts';

/** What is held under one key: the states of all candidates that count by it. */
export class Holder {
  readonly key: string;
  /** Its number in the table: small, and used again when it is dropped. States are kept by it. */
  readonly id: number;
  lastAtMs: number;

  constructor(key: string, id: number, atMs: number) {
    this.key = key;
    this.id = id;
    this.lastAtMs = atMs;
  }
}

/** What one limit of one candidate keeps of the keys of a table, by their numbers. */
export interface KeptStates {
  /** The instant from which a key is as if never used; 0 where it is. */
  resetAtMs(id: number): number;
  /** Forgets a key: undefined is written. */
  write(id: number, state: undefined): void;
}

/** Of a full table, this share is dropped at once. */
const DROPPED_SHARE = 0.1;
const SAMPLED = 1000;

/**
 * The keys of one kind, at most `maxKeys`. When there are more, those that were used longest ago are dropped: their states are
 * forgotten, which changes decisions only if a state has not ended yet.
 */
export class KeyTable<H extends Holder = Holder> {
  readonly spec: KeySpec;
  readonly #maxKeys: number;
  readonly #make: (key: string, id: number, atMs: number) => H;
  readonly #onDrop: (holder: H) => void;
  readonly #held = new Map<string, H>();
  readonly #kept: KeptStates[] = [];
  readonly #free: number[] = [];
  #ids = 0;
  dropped = 0;
  /** Those of them that had a state which still counted. */
  droppedLive = 0;

  constructor(
    spec: KeySpec,
    maxKeys: number,
    make: (key: string, id: number, atMs: number) => H,
    onDrop: (holder: H) => void,
  ) {
    this.spec = spec;
    this.#maxKeys = maxKeys;
    this.#make = make;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#held.size;
  }

  /** States that are forgotten with their keys. */
  keep<S extends KeptStates>(states: S): S {
    this.#kept.push(states);
    return states;
  }

  /** The holder of a request's key; undefined for a request without one. */
  of(entry: LogEntry): H | undefined {
    const { addressBits } = this.spec;
    if (addressBits === undefined) {
      const key = this.spec.read(entry);
      return key === undefined ? undefined : this.#at(key, entry.atMs);
    }
    // A canonical address is found as it stands; no other text is equal to one.
    const found = this.#held.get(entry.address);
    if (found === undefined) {
      const key = addressKey(entry.address, addressBits);
      return key === undefined ? undefined : this.#at(key, entry.atMs);
    }
    found.lastAtMs = entry.atMs;
    return found;
  }

  *holders(): IterableIterator<H> {
    yield* this.#held.values();
  }

  #at(key: string, atMs: number): H {
    let holder = this.#held.get(key);
    if (holder === undefined) {
      if (this.#held.size >= this.#maxKeys) this.#drop(atMs);
      const own = ownText(key); // a part of a line would keep the whole text alive
      holder = this.#make(own, this.#free.pop() ?? this.#ids++, atMs);
      this.#held.set(own, holder);
    }
    holder.lastAtMs = atMs;
    return holder;
  }

  #drop(nowMs: number): void {
    const beforeMs = this.#oldestAtMs();
    let most = Math.max(Math.floor(this.#maxKeys * DROPPED_SHARE), 1);
    for (const [key, holder] of this.#held) {
      if (holder.lastAtMs > beforeMs) continue;
      this.#held.delete(key);
      this.dropped++;
      if (this.#kept.some((states) => states.resetAtMs(holder.id) > nowMs)) this.droppedLive++;
      this.#onDrop(holder);
      for (const states of this.#kept) states.write(holder.id, undefined);
      this.#free.push(holder.id);
      if (--most === 0) return;
    }
  }

  /** An instant before which about the share was used last, from a sample. */
  #oldestAtMs(): number {
    const step = Math.max(Math.floor(this.#held.size / SAMPLED), 1);
    const sampled: number[] = [];
    let i = 0;
    for (const { lastAtMs } of this.#held.values()) if (i++ % step === 0) sampled.push(lastAtMs);
    sampled.sort((one, other) => one - other);
    return sampled[Math.floor(sampled.length * DROPPED_SHARE)] ?? Infinity;
  }
}

import { ownText } from '@sluice/core/service';
import type { KeySpec } from '../keys/key-spec.ts';
import { addressKey } from '../keys/key-spec.ts';
import type { LogEntry } from '../read/log-entry.ts';

/** What is held under one key: the states of all candidates that count by it. */
export class Holder {
  readonly key: string;
  lastAtMs: number;
  /** By the slots that the table has given away. */
  readonly states: unknown[] = [];

  constructor(key: string, atMs: number) {
    this.key = key;
    this.lastAtMs = atMs;
  }
}

/** The instant from which the state of a slot is as if never used. */
type ResetAt = (state: unknown) => number;

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
  readonly #make: (key: string, atMs: number) => H;
  readonly #onDrop: (holder: H) => void;
  readonly #held = new Map<string, H>();
  readonly #slots: ResetAt[] = [];
  dropped = 0;
  /** Those of them that had a state which still counted. */
  droppedLive = 0;

  constructor(spec: KeySpec, maxKeys: number, make: (key: string, atMs: number) => H, onDrop: (holder: H) => void) {
    this.spec = spec;
    this.#maxKeys = maxKeys;
    this.#make = make;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#held.size;
  }

  /** A place in `states`, for one limit of one candidate. */
  slot(resetAt: ResetAt): number {
    return this.#slots.push(resetAt) - 1;
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
      holder = this.#make(own, atMs);
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
      if (holder.states.some((state, slot) => state !== undefined && (this.#slots[slot]?.(state) ?? 0) > nowMs))
        this.droppedLive++;
      this.#onDrop(holder);
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

import { createHash } from 'node:crypto';
import { ownText } from '@sluice/old-core/spi';
import { type KeySpec, addressKey } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';

/** The contents of one key: the states of all candidates that count by it. */
export class Holder {
  readonly key: string;
  /** Its number in the table: small, and used again when it is dropped. States are kept by it. */
  readonly id: number;
  /** The batch of its last request. */
  lastBatch = -1;

  constructor(key: string, id: number) {
    this.key = key;
    this.id = id;
  }
}

/** The states of one limit of one candidate for the keys of a table, by their numbers. */
export interface KeptStates {
  /** The instant from which a key is as if never used; 0 where it is. */
  resetAtMs(id: number): number;
  /** Forgets a key: undefined is written. */
  write(id: number, state: undefined): void;
}

/** The share of a full table that is dropped at once. */
const DROPPED_SHARE = 0.1;
const SAMPLED = 1000;
/**
 * A longer key is held as its beginning and a hash: memory depends on how many keys there are, and not on what clients
 * send.
 */
const LONGEST_KEY = 256;
const SHOWN_OF_LONG = 200;

/**
 * The keys of one kind, at most `maxKeys`, and those of the batch at hand. When there are more, those that were used
 * longest ago are dropped: their states are forgotten, which changes decisions only if a state has not ended yet.
 */
export class KeyTable<H extends Holder = Holder> {
  readonly spec: KeySpec;
  readonly #maxKeys: number;
  readonly #make: (key: string, id: number) => H;
  readonly #onDrop: (holder: H) => void;
  readonly #held = new Map<string, H>();
  readonly #kept: KeptStates[] = [];
  readonly #free: number[] = [];
  #ids = 0;
  /** Grows with each part of the log that is decided at once. */
  #batch = 0;
  /** Set while all keys are of the batch at hand, so that none can be dropped. */
  #isInUse = false;
  dropped = 0;
  /** Those of them that had a state which still counted. */
  droppedLive = 0;

  constructor(spec: KeySpec, maxKeys: number, make: (key: string, id: number) => H, onDrop: (holder: H) => void) {
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

  /** Begins a part of the log: what it uses is not dropped until the next one. */
  begin(): void {
    this.#batch++;
    this.#isInUse = false;
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
      const key = addressKey(entry, addressBits);
      return key === undefined ? undefined : this.#at(key, entry.atMs);
    }
    found.lastBatch = this.#batch;
    return found;
  }

  *holders(): IterableIterator<H> {
    yield* this.#held.values();
  }

  #at(text: string, atMs: number): H {
    const key = text.length > LONGEST_KEY ? shortened(text) : text;
    let holder = this.#held.get(key);
    if (holder === undefined) {
      if (this.#held.size >= this.#maxKeys && !this.#isInUse) this.#drop(atMs);
      const own = ownText(key); // a part of a line would keep the whole text alive
      holder = this.#make(own, this.#free.pop() ?? this.#ids++);
      this.#held.set(own, holder);
    }
    holder.lastBatch = this.#batch;
    return holder;
  }

  #drop(nowMs: number): void {
    // The keys of the present batch stay, so that the table may hold more than `maxKeys` for so long.
    const before = Math.min(this.#oldestBatch(), this.#batch - 1);
    let most = Math.max(Math.floor(this.#maxKeys * DROPPED_SHARE), this.#held.size - this.#maxKeys, 1);
    for (const [key, holder] of this.#held) {
      if (holder.lastBatch > before) continue;
      this.#held.delete(key);
      this.dropped++;
      if (this.#kept.some((states) => states.resetAtMs(holder.id) > nowMs)) this.droppedLive++;
      this.#onDrop(holder);
      for (const states of this.#kept) states.write(holder.id, undefined);
      this.#free.push(holder.id);
      if (--most === 0) return;
    }
    this.#isInUse = before === this.#batch - 1;
  }

  /** A batch before which about the share was used last, from a sample. */
  #oldestBatch(): number {
    const step = Math.max(Math.floor(this.#held.size / SAMPLED), 1);
    const share = Math.max(DROPPED_SHARE, 1 - this.#maxKeys / this.#held.size);
    const sampled: number[] = [];
    let i = 0;
    for (const { lastBatch } of this.#held.values()) if (i++ % step === 0) sampled.push(lastBatch);
    sampled.sort((one, other) => one - other);
    return sampled[Math.floor(sampled.length * share)] ?? Infinity;
  }
}

function shortened(key: string): string {
  return `${key.slice(0, SHOWN_OF_LONG)}…${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

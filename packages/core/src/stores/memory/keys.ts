import type { Packing, PolicyBase } from '../../algorithms/algorithm.ts';
import { warnOnce } from '../../warnings.ts';
import { isUnused, keyResetAtMs, slotsEndAtMs } from '../../engine/evaluate.ts';
import { ownText } from '../../engine/own-text.ts';
import type { Limit, Part } from '../../engine/store.ts';
import { Entry } from './entry.ts';
import { OVERFLOW_BUCKETS, Overflow } from './overflow.ts';
import { DeniedKeys } from './denied-keys.ts';
import { NONE, Records } from './records.ts';
import { Tables, type Table } from './tables.ts';

/** How long a key is kept after it ends, so that a clock that steps back still finds it. */
const KEPT_MS = 60_000;
/**
 * How much a charge brings the next sweep nearer: of a new key, and of a known one. A sweep checks two keys per new
 * key, so that at most half of all keys have ended; and one key per two other charges, so that ended keys go while
 * there is any traffic.
 */
export const ADDED = 4;
export const CHARGED = 1;
const DUE_AT = 16;
const SWEPT_AT_ONCE = 8;
/** How many denied keys are released at a time, even when more end together, so that no decision waits for more. */
const RELEASED_AT_ONCE = 100;

/** The item of a record: the subject alone when the record's two numbers are its state. */
export type Item = string | Entry;

/**
 * The keys of a memory store: which keys are remembered, where, and which are evicted. See
 * docs/adr/0005-memory-store.md.
 */
export class Keys {
  readonly tables: Tables = new Tables();
  /** All keys, in their order of use except for those that are being denied. */
  readonly records: Records<Item> = new Records();
  readonly #maxKeys: number;
  readonly #denied = new DeniedKeys<Entry>();
  readonly #overflow = new Overflow();
  #charges = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.records.size + this.#overflow.size;
  }

  /**
   * Returns the entry of a part's key, or a new one. A key that two numbers hold is an entry until it is packed
   * again.
   *
   * @param ownOnly - Finds the key itself, never the overflow bucket that it shares.
   */
  find(part: Part, found: readonly Entry[], ownOnly: boolean, nowMs: number): Entry {
    const { subject, limit } = part;
    const own = this.own(part) ?? found.find((entry) => !entry.shared && isOf(entry, subject, limit));
    if (own !== undefined) return own;
    if (ownOnly || !this.isSaturated(nowMs)) return Entry.of(subject, false, limit);
    const name = this.#overflow.nameOf(subject, limit);
    return (
      this.#overflow.get(subject, limit) ??
      found.find((entry) => entry.shared && isOf(entry, name, limit)) ??
      Entry.of(name, true, limit)
    );
  }

  /** Returns the entry of a part's own key, and makes it the newest in the order of use. */
  own({ subject, limit }: Part): Entry | undefined {
    const table = this.tables.of(limit);
    const record = table?.records.get(subject);
    if (table === undefined || record === undefined) return undefined;
    const item = this.records.itemOf(record);
    if (typeof item !== 'string') {
      this.use(item);
      return item;
    }
    this.records.use(record);
    return this.unpack(table, record, item);
  }

  /** Makes an entry the newest in the order of use, if it is in that order. */
  use(entry: Entry): void {
    if (entry.list === 'lru') this.records.use(entry.record);
  }

  /** The overflow bucket of a part's key, if it is in use. */
  bucketOf({ subject, limit }: Part): Entry | undefined {
    return this.#overflow.get(subject, limit);
  }

  /** Makes an entry of two numbers. */
  unpack(table: Table, record: number, subject: string): Entry {
    const { records } = this;
    const state = this.#stateAt(table, record);
    const entry = new Entry(subject, false, table.keySuffix, [state]);
    entry.resetAtMs = this.#resetAtMs(table, state);
    entry.list = 'lru';
    entry.record = record;
    records.setItem(record, entry);
    return entry;
  }

  /** Stores an entry as two numbers, if they can hold it. */
  pack(entry: Entry, limit: Limit): void {
    if (!entry.isState) return;
    const table = this.tables.of(limit);
    if (table?.keySuffix !== entry.keySuffix || !table.packs(limit)) return;
    const packing = packingOf(table);
    const [state] = entry.states;
    if (packing.fits?.(table.policy as PolicyBase, state) === false) return;
    this.records.write(entry.record, packing.first(state), packing.second(state));
    this.records.setItem(entry.record, entry.subject);
  }

  /** Puts a changed entry on its list. An entry that is as if never used takes no room. */
  keep(entry: Entry, limit: Limit, nowMs: number): void {
    this.sweep(nowMs, entry.list === 'none' ? ADDED : CHARGED);
    entry.touched = false;
    if (isUnused(entry)) {
      this.#drop(entry);
      return;
    }
    entry.resetAtMs = keyResetAtMs(limit, entry);
    if (entry.list === 'none') this.#add(entry);
    entry.heldUntilMs = slotsEndAtMs(limit, entry);
    if (entry.list === 'denied' || entry.blockedUntilMs > nowMs || entry.heldUntilMs > nowMs) this.#pin(entry);
  }

  /** Protects a denied key from eviction for as long as it stays denied. */
  recordDenial(entry: Entry, retryAfterMs: number, nowMs: number): void {
    entry.deniedUntilMs = Math.max(entry.deniedUntilMs, nowMs + retryAfterMs);
    this.#pin(entry);
  }

  /** Whether half of all keys are being denied, without those whose denial has ended. */
  isSaturated(nowMs: number): boolean {
    for (let i = 0; this.#denied.size * 2 >= this.#maxKeys; i++) {
      // So many denials have ended that the rest can wait for the next new keys.
      if (i === RELEASED_AT_ONCE) return false;
      if (this.#release(nowMs)) continue;
      warnOnce(
        'SLUICE_MEMORY_SATURATED',
        `Half of the ${String(this.#maxKeys)} keys of a memory store are being denied. New keys share ${String(OVERFLOW_BUCKETS)} overflow buckets per limiter until that ends: ` +
          'raise maxKeys, or keep this limit in Redis.',
      );
      return true;
    }
    return false;
  }

  /** Removes ended keys now and then. Called at every charge. */
  sweep(nowMs: number, charge: typeof ADDED | typeof CHARGED): void {
    this.#charges += charge;
    if (this.#charges >= DUE_AT) this.#sweep(nowMs);
  }

  #sweep(nowMs: number): void {
    this.#charges = 0;
    for (let i = 0; i < SWEPT_AT_ONCE; i++) {
      if (this.#denied.size > 0) this.#release(nowMs);
      const record = this.records.walk();
      if (record !== NONE && this.#isForgettable(record, nowMs)) this.#dropRecord(record);
    }
    for (let i = Math.min(SWEPT_AT_ONCE, this.#overflow.size); i > 0; i--) {
      const bucket = this.#overflow.walk();
      if (bucket !== undefined && hasEnded(bucket.resetAtMs, nowMs)) this.#drop(bucket);
    }
  }

  #isForgettable(record: number, nowMs: number): boolean {
    const item = this.records.itemOf(record);
    if (typeof item !== 'string') return hasEnded(item.resetAtMs, nowMs);
    if (!hasEnded(this.records.firstOf(record), nowMs)) return false; // most have not ended, and need no state to see it
    const table = this.tables.at(this.records.tableOf(record));
    return hasEnded(this.#resetAtMs(table, this.#stateAt(table, record)), nowMs);
  }

  #stateAt(table: Table, record: number): unknown {
    return packingOf(table).unpack(
      table.policy as PolicyBase,
      this.records.firstOf(record),
      this.records.secondOf(record),
    );
  }

  #resetAtMs({ algorithm, policy }: Table, state: unknown): number {
    return algorithm === undefined || policy === undefined ? 0 : algorithm.resetAtMs(policy, state);
  }

  /** Moves an entry to the denied keys, for as long as its policies or a block deny it, or its slots are held. */
  #pin(entry: Entry): void {
    if (entry.list !== 'lru' && entry.list !== 'denied') return;
    if (entry.list === 'lru') this.records.unlink(entry.record);
    entry.list = 'denied';
    this.#denied.set(entry, entry.pinnedUntilMs);
  }

  #add(entry: Entry): void {
    if (entry.shared) {
      this.#overflow.add(entry);
      return;
    }
    const { records } = this;
    if (records.size >= this.#maxKeys && records.oldest !== NONE) this.#dropRecord(records.oldest);
    const table = this.tables.add(entry.keySuffix);
    entry.record = records.allocate(entry, table.number);
    entry.list = 'lru';
    entry.subject = ownText(entry.subject);
    table.records.set(entry.subject, entry.record);
    records.append(entry.record);
  }

  #drop(entry: Entry): void {
    if (entry.list === 'overflow') this.#overflow.delete(entry);
    else if (entry.list !== 'none') this.#dropRecord(entry.record);
  }

  #dropRecord(record: number): void {
    const { records, tables } = this;
    const item = records.itemOf(record);
    if (typeof item === 'string') {
      records.unlink(record);
    } else {
      if (item.list === 'denied') this.#denied.delete(item);
      else records.unlink(record);
      item.list = 'none';
      item.record = NONE;
    }
    tables.delete(tables.at(records.tableOf(record)), typeof item === 'string' ? item : item.subject);
    records.free(record);
  }

  /** Releases a key whose denial has ended, if there is one. */
  #release(nowMs: number): boolean {
    const entry = this.#denied.release(nowMs);
    if (entry === undefined) return false;
    entry.deniedUntilMs = 0;
    entry.list = 'lru';
    this.records.append(entry.record);
    if (hasEnded(entry.resetAtMs, nowMs)) this.#dropRecord(entry.record);
    return true;
  }
}

function isOf(entry: Entry, subject: string, { keySuffix }: Limit): boolean {
  return entry.subject === subject && entry.keySuffix === keySuffix;
}

function hasEnded(resetAtMs: number, nowMs: number): boolean {
  return resetAtMs + KEPT_MS <= nowMs;
}

function packingOf({ algorithm }: Table): Packing<PolicyBase, unknown> {
  return algorithm?.packing as Packing<PolicyBase, unknown>;
}

import type { Packing, PolicyBase } from '../../algorithms/algorithm.ts';
import { warnOnce } from '../../warnings.ts';
import { isUnused, keyResetAtMs, slotsEndAtMs } from '../../engine/key-contents.ts';
import { ownerOf } from '../../engine/key.ts';
import { ownText } from '../../engine/own-text.ts';
import type { Limit, Part } from '../../engine/store.ts';
import { CompactKeys } from './compact-keys.ts';
import { Entry } from './entry.ts';
import { KeyedHash } from './keyed-hash.ts';
import { PinnedGroup } from './pinned-group.ts';
import { PinnedKeys } from './pinned-keys.ts';
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

/** The item of a record: the subject alone when the record's two numbers are its state. */
export type Item = string | Entry;

/**
 * The keys of a memory store: which keys are remembered, where, and which are evicted. See
 * docs/adr/0005-memory-store.md.
 */
export class Keys {
  readonly tables: Tables = new Tables();
  /** All keys but the compact ones, in their order of use except for those that are pinned. */
  readonly records: Records<Item> = new Records();
  readonly #maxKeys: number;
  readonly #pinned = new PinnedKeys<Entry>();
  /** The keys that `block` blocks. */
  readonly #blocked = new PinnedGroup<Entry>();
  /** The pinned keys of a table that has no fewer than the average. */
  #largest = new PinnedGroup<Entry>();
  /** Pinned keys beyond half of `maxKeys`. */
  readonly #compactPinned: CompactKeys;
  /** Other keys that were evicted while half of `maxKeys` or more are pinned. */
  readonly #compactEvicted: CompactKeys;
  readonly #hash = new KeyedHash();
  /** How often the keys of an owner were forgotten. */
  readonly #forgotten = new Map<string, number>();
  #charges = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#compactPinned = new CompactKeys(maxKeys);
    this.#compactEvicted = new CompactKeys(maxKeys / 2);
  }

  get size(): number {
    return this.records.size + this.#compactPinned.size + this.#compactEvicted.size;
  }

  /**
   * Returns the entry of a part's key, or a new one. A key that two numbers hold is an entry until it is packed
   * again.
   *
   * @param found - Entries of the same request, which may not be in the store yet.
   */
  find(part: Part, found: readonly Entry[], nowMs: number): Entry {
    const { subject, limit } = part;
    return this.own(part, nowMs) ?? found.find((entry) => isOf(entry, subject, limit)) ?? Entry.of(subject, limit);
  }

  /** Returns the entry of a part's key, if it is in the store, and makes it the newest in the order of use. */
  own({ subject, limit }: Part, nowMs: number): Entry | undefined {
    const table = this.tables.of(limit);
    const record = table?.records.get(subject);
    if (table === undefined || record === undefined) return this.expand(subject, limit, nowMs);
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
    if (entry.record !== NONE && entry.group === undefined) this.records.use(entry.record);
  }

  /** Returns a compact key to the other keys. */
  expand(subject: string, { keySuffix }: Limit, nowMs: number): Entry | undefined {
    if (this.#compactPinned.size + this.#compactEvicted.size === 0) return undefined;
    const hash = this.#hashOf(subject, keySuffix);
    const entry =
      this.#compactPinned.take(hash, subject, keySuffix) ?? this.#compactEvicted.take(hash, subject, keySuffix);
    if (entry === undefined) return undefined;
    this.#add(entry);
    if (entry.pinnedUntilMs > nowMs) this.#pin(entry);
    return entry;
  }

  /** Makes an entry of two numbers. */
  unpack(table: Table, record: number, subject: string): Entry {
    const { records } = this;
    const state = this.#stateAt(table, record);
    const entry = new Entry(subject, table.keySuffix, [state]);
    entry.resetAtMs = this.#resetAtMs(table, state);
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

  /** Keeps a changed entry. An entry that is as if never used takes no room. */
  keep(entry: Entry, limit: Limit, nowMs: number): void {
    this.sweep(nowMs, entry.record === NONE ? ADDED : CHARGED);
    entry.touched = false;
    if (isUnused(entry)) {
      if (entry.record !== NONE) this.#dropRecord(entry.record);
      return;
    }
    entry.resetAtMs = keyResetAtMs(limit, entry);
    if (entry.record === NONE) this.#add(entry);
    entry.heldUntilMs = slotsEndAtMs(limit, entry);
    if (entry.group !== undefined || entry.blockedUntilMs > nowMs || entry.heldUntilMs > nowMs) this.#pin(entry);
  }

  /** Pins a denied key for as long as it stays denied. */
  recordDenial(entry: Entry, retryAfterMs: number, nowMs: number): void {
    const untilMs = nowMs + retryAfterMs;
    if (entry.group !== undefined && untilMs <= entry.deniedUntilMs) return;
    entry.deniedUntilMs = Math.max(entry.deniedUntilMs, untilMs);
    this.#pin(entry);
  }

  /**
   * Forgets all keys of these owners: see `ownerOf`. Compact keys do not say whose they are; their hashes are never
   * looked up again, and they go with their generation.
   */
  forget(owners: readonly string[]): void {
    for (const { records } of this.tables.ownedBy(owners)) {
      for (const record of [...records.values()]) this.#dropRecord(record);
    }
    for (const owner of owners) this.#forgotten.set(owner, (this.#forgotten.get(owner) ?? 0) + 1);
  }

  #hashOf(subject: string, keySuffix: string): number {
    const times = this.#forgotten.size === 0 ? undefined : this.#forgotten.get(ownerOf(keySuffix));
    return this.#hash.of(subject + keySuffix + (times === undefined ? '' : `:${String(times)}`));
  }

  /** Keeps to `maxKeys`. Called at the end of a request, when its entries are no longer in use. */
  trim(nowMs: number): void {
    if (this.#pinned.size * 2 > this.#maxKeys) this.#trimPinned(nowMs);
    const { records } = this;
    while (records.size > this.#maxKeys && records.oldest !== NONE) this.#evict(records.oldest);
  }

  /**
   * Makes pinned keys compact while they are more than half of `maxKeys`: the longest pinned ones of the table that has
   * most of them. Keys that `block` blocks have the other half.
   */
  #trimPinned(nowMs: number): void {
    const blocked = this.#blocked;
    for (;;) {
      const others = this.#pinned.size - blocked.size;
      if (Math.max(others, blocked.size) * 2 <= this.#maxKeys) return;
      if (this.#release(nowMs)) continue;
      const { oldest } = others < blocked.size ? blocked : this.#largestOf(others);
      if (oldest === undefined) return;
      this.#compact(oldest, this.#compactPinned);
    }
  }

  /** Removes a key that is not pinned. It is remembered in compact form where a flood has made the room scarce. */
  #evict(record: number): void {
    if (this.#pinned.size * 2 < this.#maxKeys && this.#compactPinned.size === 0) {
      this.#dropRecord(record);
      return;
    }
    const item = this.records.itemOf(record);
    const table = this.tables.at(this.records.tableOf(record));
    this.#compact(typeof item === 'string' ? this.unpack(table, record, item) : item, this.#compactEvicted);
  }

  #compact(entry: Entry, keys: CompactKeys): void {
    warnOnce(
      'SLUICE_MEMORY_SATURATED',
      `Half of the ${String(this.#maxKeys)} keys of a memory store are being denied. Until that ends, the oldest of them are kept in a compact form, and at last forgotten: ` +
        'raise maxKeys, or keep this limit in Redis.',
    );
    keys.add(this.#hashOf(entry.subject, entry.keySuffix), entry);
    this.#dropRecord(entry.record);
  }

  /** Removes ended keys now and then. Called at every charge. */
  sweep(nowMs: number, charge: typeof ADDED | typeof CHARGED): void {
    this.#charges += charge;
    if (this.#charges >= DUE_AT) this.#sweep(nowMs);
  }

  #sweep(nowMs: number): void {
    this.#charges = 0;
    for (let i = 0; i < SWEPT_AT_ONCE; i++) {
      if (this.#pinned.size > 0) this.#release(nowMs);
      const record = this.records.walk();
      if (record !== NONE && this.#isForgettable(record, nowMs)) this.#dropRecord(record);
    }
    this.#compactPinned.sweep(nowMs - KEPT_MS);
    this.#compactEvicted.sweep(nowMs - KEPT_MS);
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

  /** Takes an entry out of the order of use, for as long as its policies or a block deny it, or its slots are held. */
  #pin(entry: Entry): void {
    if (entry.record === NONE) return;
    const { group } = entry;
    if (group === undefined || entry.isBlockedByHand !== (group === this.#blocked)) this.#regroup(entry);
    this.#pinned.set(entry, entry.pinnedUntilMs);
  }

  #regroup(entry: Entry): void {
    const group = entry.isBlockedByHand ? this.#blocked : this.tables.at(this.records.tableOf(entry.record)).pinned;
    if (entry.group === undefined) this.records.unlink(entry.record);
    else entry.group.delete(entry);
    entry.group = group;
    group.add(entry);
    if (group.size > this.#largest.size && group !== this.#blocked) this.#largest = group;
  }

  /** The pinned keys of a table that has no fewer than the average of all tables. */
  #largestOf(pinned: number): PinnedGroup<Entry> {
    const { tables } = this;
    if (this.#largest.size * tables.size < pinned) this.#largest = tables.mostPinned() ?? this.#largest;
    return this.#largest;
  }

  #add(entry: Entry): void {
    const { records } = this;
    const table = this.tables.add(entry.keySuffix);
    entry.record = records.allocate(entry, table.number);
    entry.subject = ownText(entry.subject);
    table.records.set(entry.subject, entry.record);
    records.append(entry.record);
  }

  #dropRecord(record: number): void {
    const { records, tables } = this;
    const item = records.itemOf(record);
    if (typeof item !== 'string' && item.group !== undefined) {
      this.#pinned.delete(item);
      item.group.delete(item);
      item.group = undefined;
    } else {
      records.unlink(record);
    }
    if (typeof item !== 'string') item.record = NONE;
    tables.delete(tables.at(records.tableOf(record)), typeof item === 'string' ? item : item.subject);
    records.free(record);
  }

  /** Returns a pinned key that has reached its end to the order of use, if there is one. */
  #release(nowMs: number): boolean {
    const entry = this.#pinned.release(nowMs);
    if (entry === undefined) return false;
    entry.deniedUntilMs = 0;
    entry.blockedByHandUntilMs = 0;
    entry.group?.delete(entry);
    entry.group = undefined;
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

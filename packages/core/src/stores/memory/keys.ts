import type { Packing, PolicyBase } from '../../algorithms/algorithm.ts';
import { warnOnce } from '../../warnings.ts';
import { isUnused, keyResetAtMs, slotsEndAtMs } from '../evaluate.ts';
import type { Limit, Part } from '../store.ts';
import { Entry } from './entry.ts';
import { OVERFLOW_BUCKETS, Overflow } from './overflow.ts';
import { RefusedKeys } from './refused-keys.ts';
import { NONE, Slots } from './slots.ts';
import { Tables, type Table } from './tables.ts';

/** How long a key is kept that is over: a clock that steps back finds what it left. */
const KEPT_MS = 60_000;
/**
 * How much a charge brings the next sweep nearer, that of a key that was not known, and of one that was: two keys are looked
 * at for being over per new key, so that no more than as many as live are garbage; and one per two other charges, so that it
 * goes while there is any traffic.
 */
export const ADDED = 4;
export const CHARGED = 1;
const DUE_AT = 16;
const SWEPT_AT_ONCE = 8;
/** Refusals that are let go at a time, however many end together: nobody waits for more. */
const RELEASED_AT_ONCE = 100;

/** What a slot holds: the subject alone, where the slot's two numbers are its state. */
export type Item = string | Entry;

/** The keys of a memory store: who is remembered, where, and who has to go. See docs/adr/0005-memory-store.md. */
export class Keys {
  readonly tables: Tables = new Tables();
  /** In their order of use, but for those that are being refused. */
  readonly slots: Slots<Item> = new Slots();
  readonly #maxKeys: number;
  readonly #refused = new RefusedKeys<Entry>();
  readonly #overflow = new Overflow();
  #charges = 0;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.slots.size + this.#overflow.size;
  }

  /**
   * What is kept under a part's key, or is going to be. One that two numbers say is an entry until it is packed again.
   *
   * @param ownOnly - The key itself, not the bucket that it shares for want of room.
   */
  find(part: Part, found: readonly Entry[], ownOnly: boolean, nowMs: number): Entry {
    const { subject, limit } = part;
    const own = this.own(part) ?? found.find((entry) => isOf(entry, subject, limit));
    if (own !== undefined) return own;
    if (ownOnly || !this.isSaturated(nowMs)) return Entry.of(subject, false, limit);
    const name = this.#overflow.nameOf(subject, limit);
    return (
      this.#overflow.get(subject, limit) ??
      found.find((entry) => isOf(entry, name, limit)) ??
      Entry.of(name, true, limit)
    );
  }

  /** What is kept under a part's own key, which is used by that. */
  own({ subject, limit }: Part): Entry | undefined {
    const table = this.tables.of(limit);
    const slot = table?.slots.get(subject);
    if (table === undefined || slot === undefined) return undefined;
    const item = this.slots.itemOf(slot);
    if (typeof item !== 'string') {
      this.use(item);
      return item;
    }
    this.slots.use(slot);
    return this.unpack(table, slot, item);
  }

  /** Makes an entry the newest in the order of use, where it has a place in it. */
  use(entry: Entry): void {
    if (entry.place === 'keys') this.slots.use(entry.slot);
  }

  /** The bucket that a part's key is in, where that is used. */
  bucketOf({ subject, limit }: Part): Entry | undefined {
    return this.#overflow.get(subject, limit);
  }

  /** Has an entry hold what two numbers said. */
  unpack(table: Table, slot: number, subject: string): Entry {
    const { slots } = this;
    const state = this.#stateAt(table, slot);
    const entry = new Entry(subject, false, table.scope, [state]);
    entry.resetAtMs = this.#resetAtMs(table, state);
    entry.place = 'keys';
    entry.slot = slot;
    slots.hold(slot, entry);
    return entry;
  }

  /** Has two numbers say what an entry holds, where they can. */
  pack(entry: Entry, limit: Limit): void {
    if (!entry.isState) return;
    const table = this.tables.of(limit);
    if (table?.scope !== entry.scope || !table.packs(limit)) return;
    const packing = packingOf(table);
    const [state] = entry.states;
    if (packing.fits?.(table.policy as PolicyBase, state) === false) return;
    this.slots.write(entry.slot, packing.first(state), packing.second(state));
    this.slots.hold(entry.slot, entry.subject);
  }

  /** Remembers a key that was not known, by its state alone; its table if it can. */
  addState(limit: Limit, subject: string, state: unknown, nowMs: number): void {
    const entry = new Entry(subject, false, limit.scope, [state]);
    this.keep(entry, limit, nowMs);
    this.pack(entry, limit);
  }

  /** Puts a changed entry where it belongs. What is as if never used takes no room. */
  keep(entry: Entry, limit: Limit, nowMs: number): void {
    this.sweep(nowMs, entry.place === 'nowhere' ? ADDED : CHARGED);
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

  /** Keeps a key that was refused for so long, and remains so, from being evicted. */
  noteRefusal(entry: Entry, retryAfterMs: number, nowMs: number): void {
    entry.refusedUntilMs = Math.max(entry.refusedUntilMs, nowMs + retryAfterMs);
    this.#pin(entry);
  }

  /** Whether half of all keys are being refused, not counting those whose refusal is over. */
  isSaturated(nowMs: number): boolean {
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

  /** To be called at every charge: looks for what is over, now and then. */
  sweep(nowMs: number, charge: typeof ADDED | typeof CHARGED): void {
    this.#charges += charge;
    if (this.#charges >= DUE_AT) this.#sweep(nowMs);
  }

  #sweep(nowMs: number): void {
    this.#charges = 0;
    for (let i = 0; i < SWEPT_AT_ONCE; i++) {
      if (this.#refused.size > 0) this.#release(nowMs);
      const slot = this.slots.walk();
      if (slot !== NONE && this.#isForgettable(slot, nowMs)) this.#dropSlot(slot);
    }
    for (let i = Math.min(SWEPT_AT_ONCE, this.#overflow.size); i > 0; i--) {
      const bucket = this.#overflow.walk();
      if (bucket !== undefined && isOver(bucket.resetAtMs, nowMs)) this.#drop(bucket);
    }
  }

  #isForgettable(slot: number, nowMs: number): boolean {
    const item = this.slots.itemOf(slot);
    if (typeof item !== 'string') return isOver(item.resetAtMs, nowMs);
    if (!isOver(this.slots.firstOf(slot), nowMs)) return false; // most are not, and need no state to see it
    const table = this.tables.at(this.slots.tableOf(slot));
    return isOver(this.#resetAtMs(table, this.#stateAt(table, slot)), nowMs);
  }

  #stateAt(table: Table, slot: number): unknown {
    return packingOf(table).unpack(table.policy as PolicyBase, this.slots.firstOf(slot), this.slots.secondOf(slot));
  }

  #resetAtMs({ algorithm, policy }: Table, state: unknown): number {
    return algorithm === undefined || policy === undefined ? 0 : algorithm.resetAtMs(policy, state);
  }

  /** Puts an entry among those being refused, for as long as its policies or a block refuse it, or slots of it are held. */
  #pin(entry: Entry): void {
    if (entry.place !== 'keys' && entry.place !== 'refused') return;
    if (entry.place === 'keys') this.slots.take(entry.slot);
    entry.place = 'refused';
    this.#refused.set(entry, entry.pinnedUntilMs);
  }

  #add(entry: Entry): void {
    if (entry.shared) {
      this.#overflow.add(entry);
      return;
    }
    const { slots } = this;
    if (slots.size >= this.#maxKeys && slots.oldest !== NONE) this.#dropSlot(slots.oldest);
    const table = this.tables.add(entry.scope);
    entry.slot = slots.allot(entry, table.number);
    entry.place = 'keys';
    table.slots.set(entry.subject, entry.slot);
    slots.add(entry.slot);
  }

  #drop(entry: Entry): void {
    if (entry.place === 'overflow') this.#overflow.delete(entry);
    else if (entry.place !== 'nowhere') this.#dropSlot(entry.slot);
  }

  #dropSlot(slot: number): void {
    const { slots, tables } = this;
    const item = slots.itemOf(slot);
    if (typeof item === 'string') {
      slots.take(slot);
    } else {
      if (item.place === 'refused') this.#refused.delete(item);
      else slots.take(slot);
      item.place = 'nowhere';
      item.slot = NONE;
    }
    tables.delete(tables.at(slots.tableOf(slot)), typeof item === 'string' ? item : item.subject);
    slots.free(slot);
  }

  /** Lets go of a key whose refusal is over, if there is one. */
  #release(nowMs: number): boolean {
    const entry = this.#refused.release(nowMs);
    if (entry === undefined) return false;
    entry.refusedUntilMs = 0;
    entry.place = 'keys';
    this.slots.add(entry.slot);
    if (isOver(entry.resetAtMs, nowMs)) this.#dropSlot(entry.slot);
    return true;
  }
}

function isOf(entry: Entry, subject: string, { scope }: Limit): boolean {
  return entry.subject === subject && entry.scope === scope;
}

function isOver(resetAtMs: number, nowMs: number): boolean {
  return resetAtMs + KEPT_MS <= nowMs;
}

function packingOf({ algorithm }: Table): Packing<PolicyBase, unknown> {
  return algorithm?.packing as Packing<PolicyBase, unknown>;
}

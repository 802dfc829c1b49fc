/** No slot. */
export const NONE = -1;

/** 32 bytes each, half of a cache line: two numbers, the neighbours in the order of use, and the number of a table. */
const DOUBLES = 4;
const INTEGERS = 8;
const OLDER = 4;
const NEWER = 5;
const TABLE = 6;
const FIRST_SLOTS = 64;

/**
 * Numbered slots, one per key: what is kept under it, and where it stands in the order of last use. Adding, using and
 * removing cost the same however many there are, and a key costs no object. (A map keeps insertion order too, but finding
 * its first key passes over all that have been deleted before it, and an iterator that stands still keeps every table that
 * the map has outgrown.)
 *
 * A slot that is out of the order keeps its number: {@link take} it out, {@link add} it again, {@link free} it.
 */
export class Slots<T> {
  #doubles = new Float64Array(FIRST_SLOTS * DOUBLES);
  #integers = new Int32Array(this.#doubles.buffer);
  #items: (T | undefined)[] = [];
  /** The last one that was freed; each has the one before it as its older neighbour. */
  #free = NONE;
  #used = 0;
  #oldest = NONE;
  #newest = NONE;
  #walker = NONE;

  /** Slots that are not free. */
  get size(): number {
    return this.#used;
  }

  get oldest(): number {
    return this.#oldest;
  }

  /** A slot for an item, out of the order of use. */
  allot(item: T, table: number): number {
    let slot = this.#free;
    if (slot === NONE) {
      slot = this.#items.length;
      if (slot * DOUBLES === this.#doubles.length) this.#grow();
      this.#items.push(item);
    } else {
      this.#free = this.#integers[slot * INTEGERS + OLDER] as number;
      this.#items[slot] = item;
    }
    this.#integers[slot * INTEGERS + TABLE] = table;
    this.#used++;
    return slot;
  }

  /** Frees a slot that is out of the order of use. */
  free(slot: number): void {
    this.#items[slot] = undefined;
    this.#integers[slot * INTEGERS + OLDER] = this.#free;
    this.#free = slot;
    this.#used--;
    if (this.#used === 0) this.#forget();
  }

  itemOf(slot: number): T {
    return this.#items[slot] as T;
  }

  hold(slot: number, item: T): void {
    this.#items[slot] = item;
  }

  tableOf(slot: number): number {
    return this.#integers[slot * INTEGERS + TABLE] as number;
  }

  firstOf(slot: number): number {
    return this.#doubles[slot * DOUBLES] as number;
  }

  secondOf(slot: number): number {
    return this.#doubles[slot * DOUBLES + 1] as number;
  }

  write(slot: number, first: number, second: number): void {
    this.#doubles[slot * DOUBLES] = first;
    this.#doubles[slot * DOUBLES + 1] = second;
  }

  /** Puts a slot behind all others, as the newest. */
  add(slot: number): void {
    const integers = this.#integers;
    const newest = this.#newest;
    integers[slot * INTEGERS + OLDER] = newest;
    integers[slot * INTEGERS + NEWER] = NONE;
    if (newest === NONE) this.#oldest = slot;
    else integers[newest * INTEGERS + NEWER] = slot;
    this.#newest = slot;
  }

  /** Takes a slot out of the order of use. */
  take(slot: number): void {
    const integers = this.#integers;
    const older = integers[slot * INTEGERS + OLDER] as number;
    const newer = integers[slot * INTEGERS + NEWER] as number;
    if (this.#walker === slot) this.#walker = newer;
    if (older === NONE) this.#oldest = newer;
    else integers[older * INTEGERS + NEWER] = newer;
    if (newer === NONE) this.#newest = older;
    else integers[newer * INTEGERS + OLDER] = older;
  }

  use(slot: number): void {
    if (slot === this.#newest) return;
    this.take(slot);
    this.add(slot);
  }

  /** The next slot of a walk round and round the order of use. */
  walk(): number {
    const slot = this.#walker === NONE ? this.#oldest : this.#walker;
    this.#walker = slot === NONE ? NONE : (this.#integers[slot * INTEGERS + NEWER] as number);
    return slot;
  }

  /** Lets go of the room of a flood, when all of it is over. */
  #forget(): void {
    this.#items = [];
    this.#free = NONE;
    if (this.#doubles.length > FIRST_SLOTS * DOUBLES) this.#sizeTo(new Float64Array(FIRST_SLOTS * DOUBLES));
  }

  #grow(): void {
    const doubles = new Float64Array(this.#doubles.length * 2);
    doubles.set(this.#doubles); // the integers are among them
    this.#sizeTo(doubles);
  }

  #sizeTo(doubles: Float64Array<ArrayBuffer>): void {
    this.#doubles = doubles;
    this.#integers = new Int32Array(doubles.buffer);
  }
}

/** No record. */
export const NONE = -1;

/** 32 bytes each, half of a cache line: two numbers, the neighbours in the order of use, and the number of a table. */
const DOUBLES = 4;
const INTEGERS = 8;
const OLDER = 4;
const NEWER = 5;
const TABLE = 6;
const FIRST_RECORDS = 64;

/**
 * Numbered records, one per key: its contents and its neighbours in the order of use. Adding, using and removing take
 * constant time, and a key costs no object. (A map also keeps insertion order, but finding its first key passes over
 * all keys deleted before it, and an iterator that does not move keeps every table that the map has outgrown.)
 *
 * A record outside the order keeps its number: {@link unlink} takes it out, {@link append} adds it again, {@link
 * free} frees it.
 */
export class Records<T> {
  #doubles = new Float64Array(FIRST_RECORDS * DOUBLES);
  #integers = new Int32Array(this.#doubles.buffer);
  #items: (T | undefined)[] = [];
  /** The record that was freed last; each free record has the one freed before it as its older neighbour. */
  #free = NONE;
  #used = 0;
  #oldest = NONE;
  #newest = NONE;
  #walker = NONE;

  /** Records that are not free. */
  get size(): number {
    return this.#used;
  }

  get oldest(): number {
    return this.#oldest;
  }

  /** Allocates a record for an item, outside the order of use. */
  allocate(item: T, table: number): number {
    let record = this.#free;
    if (record === NONE) {
      record = this.#items.length;
      if (record * DOUBLES === this.#doubles.length) this.#grow();
      this.#items.push(item);
    } else {
      this.#free = this.#integers[record * INTEGERS + OLDER] as number;
      this.#items[record] = item;
    }
    this.#integers[record * INTEGERS + TABLE] = table;
    this.#used++;
    return record;
  }

  /** Frees a record that is outside the order of use. */
  free(record: number): void {
    this.#items[record] = undefined;
    this.#integers[record * INTEGERS + OLDER] = this.#free;
    this.#free = record;
    this.#used--;
    if (this.#used === 0) this.#shrink();
  }

  itemOf(record: number): T {
    return this.#items[record] as T;
  }

  setItem(record: number, item: T): void {
    this.#items[record] = item;
  }

  tableOf(record: number): number {
    return this.#integers[record * INTEGERS + TABLE] as number;
  }

  firstOf(record: number): number {
    return this.#doubles[record * DOUBLES] as number;
  }

  secondOf(record: number): number {
    return this.#doubles[record * DOUBLES + 1] as number;
  }

  write(record: number, first: number, second: number): void {
    this.#doubles[record * DOUBLES] = first;
    this.#doubles[record * DOUBLES + 1] = second;
  }

  /** Adds a record to the order of use, as the newest. */
  append(record: number): void {
    const integers = this.#integers;
    const newest = this.#newest;
    integers[record * INTEGERS + OLDER] = newest;
    integers[record * INTEGERS + NEWER] = NONE;
    if (newest === NONE) this.#oldest = record;
    else integers[newest * INTEGERS + NEWER] = record;
    this.#newest = record;
  }

  /** Takes a record out of the order of use. */
  unlink(record: number): void {
    const integers = this.#integers;
    const older = integers[record * INTEGERS + OLDER] as number;
    const newer = integers[record * INTEGERS + NEWER] as number;
    if (this.#walker === record) this.#walker = newer;
    if (older === NONE) this.#oldest = newer;
    else integers[older * INTEGERS + NEWER] = newer;
    if (newer === NONE) this.#newest = older;
    else integers[newer * INTEGERS + OLDER] = older;
  }

  use(record: number): void {
    if (record === this.#newest) return;
    this.unlink(record);
    this.append(record);
  }

  /** The next record of an endless walk over the order of use. */
  walk(): number {
    const record = this.#walker === NONE ? this.#oldest : this.#walker;
    this.#walker = record === NONE ? NONE : (this.#integers[record * INTEGERS + NEWER] as number);
    return record;
  }

  /** Frees the memory of a flood of keys when all of them have ended. */
  #shrink(): void {
    this.#items = [];
    this.#free = NONE;
    if (this.#doubles.length > FIRST_RECORDS * DOUBLES) this.#sizeTo(new Float64Array(FIRST_RECORDS * DOUBLES));
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

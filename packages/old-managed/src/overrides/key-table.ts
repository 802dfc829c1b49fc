import { ownText } from '@sluice/old-core/spi';

/** A power of two. At most half of the places are taken. */
const FEWEST_PLACES = 128;
/** How many places a key is looked for at: one line of a CPU's cache, usually. */
const MOST_PROBES = 8;
/** How many characters count at the end, where keys differ most, and how many before them. */
const READ_AT_END = 6;
const READ_BEFORE = 4;

/**
 * Values of keys: a map that waits for memory less often. A place is four bytes: the number of a key, and the bits of its
 * hash that did not choose the place. They tell of nearly every other key that it is absent, in one read; a key that is
 * present takes three reads, where a `Map` of a hundred thousand takes five.
 */
export class KeyTable<Value> {
  /** Zero: free. The lower bits are the number of the key, counted from 1. */
  #places = new Int32Array(FEWEST_PLACES);
  #mask = FEWEST_PLACES - 1;
  /** Each key with its value behind it. */
  readonly #pairs: (string | Value)[] = [];
  /** The numbers of keys for which no place was free where they are looked for: their hashes are much alike. */
  #crowded = new Map<string, number>();

  get size(): number {
    return this.#pairs.length / 2;
  }

  get(key: string): Value | undefined {
    const number = this.#numberOf(key, hashOf(key));
    return number === 0 ? undefined : (this.#pairs[2 * number - 1] as Value);
  }

  set(key: string, value: Value): void {
    const hash = hashOf(key);
    const number = this.#numberOf(key, hash);
    if (number > 0) {
      this.#pairs[2 * number - 1] = value;
      return;
    }
    const own = ownText(key);
    this.#pairs.push(own, value);
    if (this.size > this.#mask / 2) this.#grow();
    else this.#place(own, hash, this.size);
  }

  *entries(): Generator<readonly [key: string, value: Value]> {
    for (let i = 0; i < this.#pairs.length; i += 2) yield [this.#pairs[i] as string, this.#pairs[i + 1] as Value];
  }

  /** Zero: it has none. */
  #numberOf(key: string, hash: number): number {
    const places = this.#places;
    const mask = this.#mask;
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const place = places[(hash + probe) & mask] as number;
      if (place === 0) return 0;
      const isAlike = ((place ^ hash) & ~mask) === 0;
      if (isAlike && this.#pairs[2 * (place & mask) - 2] === key) return place & mask;
    }
    return this.#crowded.get(key) ?? 0;
  }

  #place(key: string, hash: number, number: number): void {
    for (let probe = 0; probe < MOST_PROBES; probe++) {
      const at = (hash + probe) & this.#mask;
      if (this.#places[at] !== 0) continue;
      this.#places[at] = (hash & ~this.#mask) | number;
      return;
    }
    this.#crowded.set(key, number);
  }

  #grow(): void {
    const many = this.#places.length * 2;
    this.#places = new Int32Array(many);
    this.#mask = many - 1;
    this.#crowded = new Map();
    let number = 0;
    for (const [key] of this.entries()) this.#place(key, hashOf(key), ++number);
  }
}

function hashOf(key: string): number {
  const { length } = key;
  const end = Math.max(length - READ_AT_END, 0);
  let hash = length;
  for (let i = end; i < length; i++) hash = Math.imul(hash, 31) + key.charCodeAt(i);
  const step = Math.ceil(end / READ_BEFORE);
  let before = 0;
  for (let i = 0; i < end; i += step) before = Math.imul(before, 31) + key.charCodeAt(i);
  hash = Math.imul(hash ^ Math.imul(before, 0x85ebca6b), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x297a2d39);
  return hash ^ (hash >>> 15);
}

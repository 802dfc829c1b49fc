/** The least number of bits a key: at most one in eight absent keys is taken for present. */
const BITS_OF_KEY = 8;
const FEWEST_BITS = 1024;
/** How many characters count, from the end: there keys differ most. */
const MOST_READ = 16;

/**
 * Tells of most keys that a map does not have them. Of a hundred thousand keys this takes some 200 kB, which a cache of the
 * CPU holds: a look-up in the map itself waits for memory several times.
 */
export class KeyFilter {
  #bits = new Uint32Array(FEWEST_BITS / 32);
  #mask = FEWEST_BITS - 1;

  /** @param keys - Those that the map has, with the new one. */
  add(key: string, keys: ReadonlyMap<string, unknown>): void {
    if (keys.size * BITS_OF_KEY <= this.#mask) this.#set(key);
    else this.#grow(keys);
  }

  /** False: the map does not have the key. */
  mayHave(key: string): boolean {
    const place = hashOf(key) & this.#mask;
    return ((this.#bits[place >>> 5] as number) & (1 << (place & 31))) !== 0;
  }

  #grow(keys: ReadonlyMap<string, unknown>): void {
    const many = (this.#mask + 1) * 2;
    this.#bits = new Uint32Array(many / 32);
    this.#mask = many - 1;
    for (const key of keys.keys()) this.#set(key);
  }

  #set(key: string): void {
    const place = hashOf(key) & this.#mask;
    this.#bits[place >>> 5] = (this.#bits[place >>> 5] as number) | (1 << (place & 31));
  }
}

function hashOf(key: string): number {
  const { length } = key;
  let hash = length;
  for (let i = Math.max(length - MOST_READ, 0); i < length; i++) hash = Math.imul(hash, 31) + key.charCodeAt(i);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

import { randomBytes } from 'node:crypto';

const LARGEST_HIGH = 2 ** 21;

/**
 * Hashes of texts in 53 bits: two HalfSipHash-1-3, each under a random key of its own. Clients do not know the keys,
 * so they cannot find texts that have the hash of another.
 */
export class KeyedHash {
  readonly #keys: readonly number[];

  constructor() {
    const random = randomBytes(16);
    this.#keys = [0, 4, 8, 12].map((at) => random.readInt32LE(at));
  }

  of(text: string): number {
    const [low0 = 0, low1 = 0, high0 = 0, high1 = 0] = this.#keys;
    return (halfSipHash(text, high0, high1) % LARGEST_HIGH) * 2 ** 32 + halfSipHash(text, low0, low1);
  }
}

/**
 * HalfSipHash-1-3 of the UTF-16 code units of a text, little-endian, in 32 bits.
 *
 * Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012; the half is of the reference implementation.
 */
export function halfSipHash(text: string, key0: number, key1: number): number {
  let v0 = key0;
  let v1 = key1;
  let v2 = key0 ^ 0x6c796765;
  let v3 = key1 ^ 0x74656462;
  const words = (text.length >> 1) + 1;
  // One round a word, and three more.
  for (let i = 0; i < words + 3; i++) {
    const word = i < words ? wordAt(text, 2 * i) : 0;
    if (i === words) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}

/** Two code units; of the last word the count of bytes is the highest byte. */
function wordAt(text: string, at: number): number {
  const { length } = text;
  if (at + 1 < length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  return (at < length ? text.charCodeAt(at) : 0) | (length << 25);
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

import { describe, expect, it } from '@jest/globals';
import { halfSipHash, KeyedHash } from '../../../src/stores/memory/keyed-hash.ts';

/** The bytes 0, 1, 2 ... of the published vectors, as UTF-16 code units. */
function bytes(count: number): string {
  return Buffer.from(Array.from({ length: count }, (_, i) => i)).toString('utf16le');
}

describe('HalfSipHash-1-3', () => {
  it.each([
    [0, 0x5814c896],
    [2, 0xbc4b0e30],
    [4, 0x7e059ea6],
    [6, 0xa0080b65],
    [8, 0x577999b1],
    [10, 0xe4fa32cf],
    [12, 0x6b28096c],
    [14, 0x16658a7c],
    [16, 0x8b31d501],
  ])('of %i bytes is that of the published vectors', (count, expected) => {
    expect(halfSipHash(bytes(count), 0x03020100, 0x07060504)).toBe(expected);
  });
});

describe('a keyed hash', () => {
  it('is a whole number of 53 bits, the same for a text and another for other texts', () => {
    const hash = new KeyedHash();
    const texts = Array.from({ length: 10_000 }, (_, i) => `2001:db8:1:${i.toString(16)}::/64:login:2f`);

    const hashes = texts.map((text) => hash.of(text));

    expect(new Set(hashes).size).toBe(texts.length);
    expect(texts.map((text) => hash.of(text))).toEqual(hashes);
    expect(hashes.every((value) => Number.isSafeInteger(value) && value >= 0)).toBe(true);
    expect(hashes.filter((value) => value >= 2 ** 52).length).toBeGreaterThan(4_000);
  });

  it('is another in each store', () => {
    expect(new KeyedHash().of('text')).not.toBe(new KeyedHash().of('text'));
  });
});

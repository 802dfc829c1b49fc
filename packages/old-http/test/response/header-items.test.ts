import { describe, expect, it } from '@jest/globals';
import { quotaItem, stateItem } from '../../src/response/headers.ts';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { parseList, serializeList, type BareItem } from 'structured-headers';

const LARGEST = 999_999_999_999_999;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

// What no option of ours says yet, so that it holds when one does. The vectors of docs, by their numbers.
describe('the items of the draft-11 fields', () => {
  it.each<[string, string, string]>([
    [
      'slots without a window, and no wait (V7)',
      quotaItem('in-flight', { q: 5, qu: 'concurrent-requests' }),
      '"in-flight";q=5;qu="concurrent-requests"',
    ],
    ['slots that are free (V7)', stateItem('in-flight', { r: 2 }), '"in-flight";r=2'],
    [
      'a quota of bytes (V8)',
      quotaItem('egress', { q: 1_048_576, qu: 'content-bytes', w: 60 }),
      '"egress";q=1048576;qu="content-bytes";w=60',
    ],
    ['the bytes that are left (V8)', stateItem('egress', { r: 1_044_480, t: 60 }), '"egress";r=1044480;t=60'],
    [
      'a partition in the quota (V9)',
      quotaItem('default', { q: 100, w: 60, pk: bytesOf('App-999') }),
      '"default";q=100;w=60;pk=:QXBwLTk5OQ==:',
    ],
    [
      'a partition in what is left (V9)',
      stateItem('default', { r: 41, t: 12, pk: bytesOf('App-999') }),
      '"default";r=41;t=12;pk=:QXBwLTk5OQ==:',
    ],
    ['a name with a quote and a backslash (V10)', quotaItem('a"b\\c', { q: 1, w: 1 }), '"a\\"b\\\\c";q=1;w=1'],
    ['the same name in what is left (V10)', stateItem('a"b\\c', { r: 0, t: 1 }), '"a\\"b\\\\c";r=0;t=1'],
    ['a quota that load has lowered (V11)', quotaItem('default', { q: 25, w: 60 }), '"default";q=25;w=60'],
    ['a plan that is blocked', quotaItem('default', { q: 0, w: 60 }), '"default";q=0;w=60'],
    [
      'parameters of a vendor',
      stateItem('default', { r: 1, vendor: { 'acme-burst': 5, acme: 'a "b"', '*x': true, off: false, debt: -3 } }),
      '"default";r=1;acme-burst=5;acme="a \\"b\\"";*x;off=?0;debt=-3',
    ],
  ])('write %s', (_what, item, expected) => {
    expect(item).toBe(expected);
    expect(serializeList(parseList(item))).toBe(expected);
  });

  it('write the bytes of a view, and not of the buffer under it', () => {
    const view = new Uint8Array(bytesOf('xxApp-999xx').buffer, 2, 7);

    expect(stateItem('default', { r: 1, pk: view })).toBe('"default";r=1;pk=:QXBwLTk5OQ==:');
  });

  it.each<[string, () => string]>([
    ['a name that is not ASCII (N1)', () => quotaItem('café', { q: 1 })],
    ['an empty name (N2)', () => stateItem('', { r: 1 })],
    ['a name with a line break', () => quotaItem('a\r\nSet-Cookie: b', { q: 1 })],
    ['a name with DEL', () => quotaItem('a\x7f', { q: 1 })],
    ['a quota of 10^15 (N3)', () => quotaItem('a', { q: 10 ** 15 })],
    ['half a unit (N4)', () => stateItem('a', { r: 1.5 })],
    ['an infinite quota (N5)', () => quotaItem('a', { q: Infinity })],
    ['NaN units (N5)', () => stateItem('a', { r: NaN })],
    ['units below zero (N6)', () => stateItem('a', { r: -1 })],
    ['a window of zero (N7)', () => quotaItem('a', { q: 1, w: 0 })],
    ['a wait below zero', () => stateItem('a', { r: 1, t: -1 })],
    ['a unit that is not ASCII', () => quotaItem('a', { q: 1, qu: 'größe' })],
    ['a partition that is text (N9)', () => quotaItem('a', { q: 1, pk: 'App-999' as unknown as Uint8Array })],
    [
      'a partition that is a buffer (N9)',
      () => stateItem('a', { r: 1, pk: new ArrayBuffer(4) as unknown as Uint8Array }),
    ],
    ['a partition that is null (N9)', () => stateItem('a', { r: 1, pk: null as unknown as Uint8Array })],
    ['a vendor key with a capital letter (N10)', () => quotaItem('a', { q: 1, vendor: { acmeBurst: 1 } })],
    ['a vendor key that is empty', () => quotaItem('a', { q: 1, vendor: { '': 1 } })],
    ['a vendor key that begins with a digit', () => stateItem('a', { r: 1, vendor: { '1st': 1 } })],
    ['a vendor key with a semicolon', () => stateItem('a', { r: 1, vendor: { 'a;r': 9 } })],
    ['a vendor number with a fraction', () => quotaItem('a', { q: 1, vendor: { acme: 0.5 } })],
    ['a vendor list', () => quotaItem('a', { q: 1, vendor: { acme: [1] as unknown as string } })],
  ])('deny %s', (_what, write) => {
    expect(write).toThrow(expect.objectContaining({ name: 'TypeError' }));
  });

  it('are what an independent parser reads and writes, whatever stands in them', () => {
    const ascii = fc.string({
      unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
      minLength: 1,
    });
    const units = fc.nat(LARGEST);
    const bytes = fc.uint8Array({ maxLength: 40 });
    const vendor = fc.dictionary(
      fc.stringMatching(/^x[a-z0-9_.*-]*$/),
      fc.oneof(ascii, fc.boolean(), fc.integer({ min: -LARGEST, max: LARGEST }), bytes),
    );

    fc.assert(
      fc.property(ascii, units, ascii, units, bytes, vendor, (name, q, qu, w, pk, own) => {
        const item = quotaItem(name, { q, qu, w: Math.max(w, 1), pk, vendor: own });

        const [[read, parameters] = ['', new Map<string, BareItem>()]] = parseList(item) as [
          string,
          Map<string, BareItem>,
        ][];

        expect(serializeList([[read, parameters]])).toBe(item);
        expect([read, parameters.get('q'), parameters.get('qu'), parameters.get('w')]).toEqual([
          name,
          q,
          qu,
          Math.max(w, 1),
        ]);
        expect(Buffer.from(parameters.get('pk') as ArrayBuffer)).toEqual(Buffer.from(pk));
        expect([...parameters.keys()].slice(4)).toEqual(Object.keys(own));
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import fc from 'fast-check';
import { MOST_DESCRIPTORS } from '../../src/rls/bounds.ts';
import { decodeRateLimitRequest } from '../../src/rls/codec-request.ts';
import type { RateLimitRequest } from '../../src/rls/messages.ts';
import { WireError } from '../../src/protobuf/wire.ts';
import { failingWith } from './failing-with.ts';
import { RequestType, encodeRequest, type RequestFields } from './protocol.ts';
import { encode, message, number, requests, text, unknownFields, varint, type Field } from './wire-messages.ts';

const seed = testSeed(19);
const check = (property: fc.IProperty<unknown>, runs = cases(1000)): void => {
  fc.assert(property, { seed, numRuns: runs });
};

/** What protobufjs understands, in the form of ours. */
function decodedByPeer(bytes: Uint8Array): RateLimitRequest {
  const request = RequestType.toObject(RequestType.decode(bytes), { longs: Number, enums: Number }) as RequestFields;
  return {
    domain: request.domain ?? '',
    hitsAddend: request.hitsAddend ?? 0,
    descriptors: (request.descriptors ?? []).map(({ entries, limit, hitsAddend, isNegativeHits }) => ({
      entries: (entries ?? []).map(({ key = '', value = '' }) => ({ key, value })),
      limit: limit && { requestsPerUnit: limit.requestsPerUnit ?? 0, unit: limit.unit ?? 0 },
      hitsAddend: hitsAddend && Number(hitsAddend.value ?? 0),
      isNegativeHits: isNegativeHits ?? false,
    })),
  };
}

/** The outcome of a decoder: what it understands, or that it rejects the bytes. */
function outcomeOf(decode: (bytes: Buffer) => RateLimitRequest, bytes: Buffer): RateLimitRequest | 'rejected' {
  try {
    return decode(bytes);
  } catch {
    return 'rejected';
  }
}

/** A message with changed bytes, with a piece of another one inserted, or behind another one. */
function mutated(random: Random, sample: Buffer, others: readonly Buffer[]): Buffer {
  const other = others[random.integer(0, others.length - 1)] as Buffer;
  const kind = random.integer(0, 3);
  if (kind === 0) return Buffer.concat([sample, other]);
  const at = random.integer(0, sample.length);
  if (kind === 1) return Buffer.concat([sample.subarray(0, at), other, sample.subarray(at)]);
  if (kind === 2) {
    const unknown = encode(fc.sample(unknownFields, { seed: random.integer(0, 2 ** 31), numRuns: 1 })[0] ?? []);
    return Buffer.concat([sample.subarray(0, at), unknown, sample.subarray(at)]);
  }
  const bytes = Buffer.from(sample);
  for (let i = random.integer(1, 3); i > 0 && bytes.length > 0; i--) {
    bytes[random.integer(0, bytes.length - 1)] = random.integer(0, 255);
  }
  return bytes;
}

describe('decoding a request', () => {
  it('understands every message as protobufjs does', () => {
    check(
      fc.property(requests, (request) => {
        const bytes = encodeRequest(request);

        expect(decodeRateLimitRequest(bytes)).toEqual(decodedByPeer(bytes));
      }),
    );
  });

  it('takes a known number with another wire type for an unknown field', () => {
    const bytes = encode([
      [1, number(5)],
      [2, { fixed64: 7n }],
      [3, text('12')],
      [1, text('domain')],
    ]);

    expect(decodeRateLimitRequest(bytes)).toEqual({ domain: 'domain', hitsAddend: 0, descriptors: [] });
  });

  it('takes the last of several values, and merges messages that come several times', () => {
    const descriptor: readonly Field[] = [
      [2, message([1, number(10)], [2, number(1)])],
      [2, message([2, number(3)])],
      [3, message([1, number(5)])],
      [3, message()],
      [4, number(1)],
      [4, number(0)],
      [1, message([1, text('a')], [1, text('b')], [2, text('c')])],
    ];
    const bytes = encode([
      [1, text('first')],
      [3, number(1)],
      [2, message(...descriptor)],
      [1, text('last')],
      [3, number(2)],
    ]);

    expect(decodeRateLimitRequest(bytes)).toEqual({
      domain: 'last',
      hitsAddend: 2,
      descriptors: [
        {
          entries: [{ key: 'b', value: 'c' }],
          limit: { requestsPerUnit: 10, unit: 3 },
          hitsAddend: 5,
          isNegativeHits: false,
        },
      ],
    });
    expect(decodeRateLimitRequest(bytes)).toEqual(decodedByPeer(bytes));
  });

  it('reads varints of up to ten bytes, as long as they have 64 bits', () => {
    const hitsOf = (value: bigint, size: number): number | undefined =>
      decodeRateLimitRequest(encode([[2, message([3, message([1, number(value, size)])])]])).descriptors[0]?.hitsAddend;

    for (let size = 1; size <= 10; size++) expect(hitsOf(1n, size)).toBe(1);
    expect(hitsOf(2n ** 53n - 1n, 10)).toBe(Number.MAX_SAFE_INTEGER);
    expect(Number.isSafeInteger(hitsOf(2n ** 53n, 8))).toBe(false);
    expect(Number.isSafeInteger(hitsOf(2n ** 64n - 1n, 10))).toBe(false);
    expect(() => hitsOf(2n ** 64n, 10)).toThrow(WireError);
    expect(() => hitsOf(1n, 11)).toThrow(WireError);
  });
});

describe('bytes that are no request', () => {
  it.each([
    ['field number 0', Buffer.from([0x02, 0x00])],
    ['a field number above 2^29 - 1', Buffer.concat([varint(2n ** 32n + 2n), Buffer.from([0])])],
    ['wire type 6', Buffer.from([0x0e, 0x00])],
    ['wire type 7', Buffer.from([0x0f, 0x00])],
    ['an end of a group without its begin', Buffer.from([0x0c])],
    ['a group that ends as another one', Buffer.from([0x1b, 0x24])],
    ['a group without an end', Buffer.from([0x1b])],
    ['groups in groups without end', Buffer.alloc(200, 0x1b)],
    ['a length beyond the end', Buffer.from([0x0a, 0x7f])],
    ['a length of 2^63', Buffer.concat([Buffer.from([0x0a]), varint(2n ** 63n)])],
    ['a text that is no UTF-8', Buffer.from([0x0a, 0x02, 0xc3, 0x28])],
    ['a text with half a surrogate pair', Buffer.from([0x0a, 0x03, 0xed, 0xa0, 0x80])],
    ['an inner message that ends behind the outer one', Buffer.from([0x12, 0x02, 0x0a, 0x05, 0, 0, 0, 0, 0])],
  ])('are rejected: %s', (_what, bytes) => {
    expect(() => decodeRateLimitRequest(bytes)).toThrow(WireError);
  });

  it('mean to protobufjs the same wherever they are decoded, however they were changed', () => {
    const random = seeded(seed);
    const samples = fc.sample(requests, { seed, numRuns: 200 }).map(encodeRequest);
    let decoded = 0;
    for (let i = 0; i < cases(20_000); i++) {
      const bytes = mutated(random, samples[random.integer(0, samples.length - 1)] as Buffer, samples);
      const ours = outcomeOf(decodeRateLimitRequest, bytes);
      if (ours === 'rejected') continue;
      decoded++;
      expect([bytes.toString('hex'), ours]).toEqual([bytes.toString('hex'), outcomeOf(decodedByPeer, bytes)]);
    }
    expect(decoded).toBeGreaterThan(cases(1000));
  });

  it('may have no more descriptors, entries and bytes than the bounds say', () => {
    const many = (count: number, field: Field): Field[] => Array.from({ length: count }, () => field);
    const bad = [
      encode(many(100_000, [2, message()])),
      encode([[2, message(...many(65, [1, message()]))]]),
      encode([[1, text('d'.repeat(1025))]]),
      encode([[2, message([1, message([1, text('k'.repeat(1025))])])]]),
      encode([[2, message([1, message([2, text('v'.repeat(8193))])])]]),
    ];
    for (const bytes of bad) {
      expect(() => decodeRateLimitRequest(bytes)).toThrow(failingWith(3));
    }
    const most = encode(many(MOST_DESCRIPTORS, [2, message()]));
    expect(decodeRateLimitRequest(most).descriptors).toHaveLength(MOST_DESCRIPTORS);
  });
});

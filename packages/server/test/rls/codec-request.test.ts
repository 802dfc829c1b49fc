import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { MAX_DESCRIPTORS } from '../../src/rls/bounds.ts';
import { decodeRateLimitRequest } from '../../src/rls/codec-request.ts';
import type { RateLimitRequest } from '../../src/rls/messages.ts';
import { RequestType, encodeRequest, type RequestFields } from './protocol.ts';

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

/** Texts as clients send them, of up to four bytes a character. */
const texts = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: 'grapheme', maxLength: 10 }));
const uint32s = fc.oneof(fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1), fc.nat());
const optional = { requiredKeys: [] };
const limits = fc.record({ requestsPerUnit: uint32s, unit: fc.integer({ min: 0, max: 6 }) }, optional);
const descriptors = fc.record(
  {
    entries: fc.array(fc.record({ key: texts, value: texts }, optional), { maxLength: 4 }),
    ...{ limit: limits, hitsAddend: fc.record({ value: fc.maxSafeNat() }, optional), isNegativeHits: fc.boolean() },
  },
  optional,
);
const requests: fc.Arbitrary<RequestFields> = fc.record(
  { domain: texts, hitsAddend: uint32s, descriptors: fc.array(descriptors, { maxLength: 5 }) },
  optional,
);
/** Fields that no version of the messages has: a text, and a fixed number in a group. */
const UNKNOWN = Buffer.from([0x9a, 0x06, 0x01, 0x61, 0xa3, 0x06, 0x0d, 1, 2, 3, 4, 0xa4, 0x06]);

describe('decoding a request', () => {
  it('understands every message as protobufjs does, also one behind another, with unknown fields between', () => {
    fc.assert(
      fc.property(requests, requests, (one, other) => {
        const bytes = Buffer.concat([encodeRequest(one), UNKNOWN, encodeRequest(other)]);

        expect(decodeRateLimitRequest(bytes)).toEqual(decodedByPeer(bytes));
      }),
      { seed: testSeed(19), numRuns: cases(1000) },
    );
  });

  it('rounds hits above 2^53, and never below them', () => {
    const of = (value: string): number | undefined =>
      decodeRateLimitRequest(encodeRequest({ descriptors: [{ hitsAddend: { value } }] })).descriptors[0]?.hitsAddend;

    expect(of('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    expect(of('9007199254740993')).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(of('18446744073709551615')).toBe(2 ** 64);
  });

  it.each([
    ['field number 0', [0x02, 0x00]],
    ['wire type 7', [0x0f, 0x00]],
    ['groups in groups without end', new Array<number>(200).fill(0x1b)],
    ['a length beyond the end', [0x0a, 0x7f]],
    ['a text that is no UTF-8', [0x0a, 0x02, 0xc3, 0x28]],
    ['an inner message that ends outside the outer one', [0x12, 0x02, 0x0a, 0x05, 0, 0, 0, 0, 0]],
  ])('rejects %s', (_what, bytes) => {
    expect(() => decodeRateLimitRequest(Buffer.from(bytes))).toThrow();
  });

  it('takes no more descriptors, entries and bytes than the bounds say', () => {
    const of = (entry: object): Buffer => encodeRequest({ descriptors: [{ entries: [entry] }] });
    const bad = [
      encodeRequest({ descriptors: Array.from({ length: 100_000 }, () => ({})) }),
      encodeRequest({ descriptors: [{ entries: Array.from({ length: 65 }, () => ({})) }] }),
      encodeRequest({ domain: 'd'.repeat(1025) }),
      of({ key: 'k'.repeat(1025) }),
      of({ value: 'v'.repeat(8193) }),
    ];
    for (const bytes of bad) {
      expect(() => decodeRateLimitRequest(bytes)).toThrow(
        expect.objectContaining({ name: 'CallError', code: 3 }) as unknown as Error,
      );
    }
    const most = encodeRequest({ descriptors: Array.from({ length: MAX_DESCRIPTORS }, () => ({})) });
    expect(decodeRateLimitRequest(most).descriptors).toHaveLength(MAX_DESCRIPTORS);
  });
});

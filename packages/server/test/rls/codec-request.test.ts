import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import fc from 'fast-check';
import { MAX_DESCRIPTORS } from '../../src/rls/bounds.ts';
import { decodeRateLimitRequest } from '../../src/rls/codec-request.ts';
import type { RateLimitRequest } from '../../src/rls/messages.ts';
import { WireError } from '../../src/protobuf/wire.ts';
import { RequestType, encodeRequest, type RequestFields } from './protocol.ts';
import { requests, unknownField } from './wire-messages.ts';

const seed = testSeed(19);
const check = (property: fc.IProperty<unknown>, runs = cases(1000)): void => {
  fc.assert(property, { seed, numRuns: runs });
};

/** @param size - Bytes to use, up to ten: more than needed is allowed. */
function varint(value: bigint, size = 1): Buffer {
  const bytes = Array.from({ length: Math.max(size, Math.ceil(value.toString(2).length / 7)) }, (_one, i) => {
    return Number((value >> BigInt(7 * i)) & 127n) | 128;
  });
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & 127;
  return Buffer.from(bytes);
}

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
    return Buffer.concat([sample.subarray(0, at), unknownField(random), sample.subarray(at)]);
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

  it('reads varints of up to ten bytes, as long as they have 64 bits', () => {
    const readHits = (value: bigint, size: number): number | undefined => {
      const hits = varint(value, size);
      const descriptor = [0x1a, hits.length + 1, 0x08, ...hits];
      return decodeRateLimitRequest(Buffer.from([0x12, descriptor.length, ...descriptor])).descriptors[0]?.hitsAddend;
    };

    for (let size = 1; size <= 10; size++) expect(readHits(1n, size)).toBe(1);
    expect(readHits(2n ** 53n - 1n, 10)).toBe(Number.MAX_SAFE_INTEGER);
    expect(Number.isSafeInteger(readHits(2n ** 53n, 8))).toBe(false);
    expect(Number.isSafeInteger(readHits(2n ** 64n - 1n, 10))).toBe(false);
    expect(() => readHits(2n ** 64n, 10)).toThrow(WireError);
    expect(() => readHits(1n, 11)).toThrow(WireError);
  });
});

describe('bytes that are no request', () => {
  it.each([
    ['field number 0', Buffer.from([0x02, 0x00])],
    ['a field number above 2^29 - 1', Buffer.concat([varint(2n ** 32n + 2n), Buffer.from([0])])],
    ['wire type 6', Buffer.from([0x0e, 0x00])],
    ['wire type 7', Buffer.from([0x0f, 0x00])],
    ['a group', Buffer.from([0x1b, 0x1c])],
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

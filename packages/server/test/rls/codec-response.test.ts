import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { encodeRateLimitResponse } from '../../src/rls/codec-response.ts';
import { OK, OVER_LIMIT, type RateLimitResponse } from '../../src/rls/messages.ts';
import { decodeResponse } from './protocol.ts';

const texts = fc.oneof(fc.string({ maxLength: 200 }), fc.string({ unit: 'grapheme', maxLength: 40 }));
const uint32s = fc.oneof(fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1), fc.nat());
const codes = fc.constantFrom(OK, OVER_LIMIT);
/** Finite numbers: protobufjs itself decodes the others from JSON only. */
const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });

const responses: fc.Arbitrary<RateLimitResponse> = fc.record({
  overallCode: codes,
  statuses: fc.array(
    fc.record({
      code: codes,
      currentLimit: fc.option(
        fc.record({
          requestsPerUnit: uint32s,
          unit: fc.integer({ min: 1, max: 7 }),
          name: fc.option(texts, { nil: undefined }),
        }),
        { nil: undefined },
      ),
      limitRemaining: uint32s,
      secondsUntilReset: fc.option(fc.nat({ max: 2 ** 31 }), { nil: undefined }),
    }),
    { maxLength: 20 },
  ),
  responseHeadersToAdd: fc.array(fc.record({ key: texts, value: texts }), { maxLength: 4 }),
  dynamicMetadata: fc.option(fc.dictionary(texts, json, { maxKeys: 4, noNullPrototype: true }), { nil: undefined }),
});

const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'];
const named = (code: number): string => (code === OK ? 'OK' : 'OVER_LIMIT');
const unless = <T>(value: T, nothing: T): T | undefined => (value === nothing ? undefined : value);

/** What protobufjs should decode: without fields that have no value. */
function expected(response: RateLimitResponse): unknown {
  const statuses = response.statuses.map(({ code, currentLimit, limitRemaining, secondsUntilReset }) => ({
    code: named(code),
    currentLimit: currentLimit && {
      requestsPerUnit: unless(currentLimit.requestsPerUnit, 0),
      unit: UNITS[currentLimit.unit],
      name: unless(currentLimit.name, ''),
    },
    limitRemaining: unless(limitRemaining, 0),
    durationUntilReset: secondsUntilReset === undefined ? undefined : { seconds: unless(secondsUntilReset, 0) },
  }));
  const headers = response.responseHeadersToAdd.map(({ key, value }) => ({
    key: unless(key, ''),
    value: unless(value, ''),
  }));
  return {
    overallCode: named(response.overallCode),
    statuses: statuses.length === 0 ? undefined : statuses,
    responseHeadersToAdd: headers.length === 0 ? undefined : headers,
    dynamicMetadata: response.dynamicMetadata && structOf(response.dynamicMetadata),
  };
}

function structOf(map: object): unknown {
  const entries = Object.entries(map);
  return entries.length === 0
    ? {}
    : { fields: Object.fromEntries(entries.map(([key, value]) => [key, valueOf(value)])) };
}

function valueOf(value: unknown): unknown {
  if (value === null) return { nullValue: 'NULL_VALUE' };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: value.length === 0 ? {} : { values: value.map(valueOf) } };
  return { structValue: structOf(value as object) };
}

describe('an encoded response', () => {
  it('is understood by protobufjs as it was meant', () => {
    fc.assert(
      fc.property(responses, (response) => {
        const decoded = decodeResponse(encodeRateLimitResponse(response, 0));

        expect(JSON.parse(JSON.stringify(decoded))).toEqual(JSON.parse(JSON.stringify(expected(response))));
      }),
      { seed: testSeed(19), numRuns: cases(1000) },
    );
  });

  it('may be larger than any before, and the next one is small again', () => {
    const large = { key: 'k', value: 'ä'.repeat(100_000) };
    const responseWith = (header: { key: string; value: string }): RateLimitResponse => ({
      overallCode: OVER_LIMIT,
      statuses: [],
      responseHeadersToAdd: [header],
      dynamicMetadata: undefined,
    });

    expect(decodeResponse(encodeRateLimitResponse(responseWith(large), 0)).responseHeadersToAdd).toEqual([large]);
    expect(encodeRateLimitResponse(responseWith({ key: 'a', value: 'b' }), 0)).toHaveLength(10);
  });
});

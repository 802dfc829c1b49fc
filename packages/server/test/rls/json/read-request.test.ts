import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { decodeRateLimitRequest } from '../../../src/rls/codec-request.ts';
import { CallError } from '../../../src/grpc/status.ts';
import { requestOfJson } from '../../../src/rls/json/read-request.ts';
import { RequestType, encodeRequest, type RequestFields } from '../protocol.ts';
import { requests } from '../wire-messages.ts';

const EMPTY = { entries: [], limit: undefined, hitsAddend: undefined, isNegativeHits: false };
const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR'];

/** A request as clients write it in JSON: names of either kind, enums and numbers of either kind. */
function written(request: RequestFields, isOriginal: boolean): unknown {
  const name = (member: string): string =>
    isOriginal ? member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : member;
  const number = (value: number | string | undefined): unknown => (isOriginal ? String(value ?? 0) : value);
  return {
    domain: request.domain,
    [name('hitsAddend')]: request.hitsAddend,
    descriptors: request.descriptors?.map(({ entries, limit, hitsAddend, isNegativeHits }) => ({
      entries,
      limit: limit && {
        [name('requestsPerUnit')]: number(limit.requestsPerUnit),
        unit: isOriginal ? UNITS[limit.unit ?? 0] : limit.unit,
      },
      [name('hitsAddend')]: hitsAddend && (hitsAddend.value ?? 0),
      [name('isNegativeHits')]: isNegativeHits,
    })),
  };
}

describe('a request in JSON', () => {
  it.each([
    ['names of JSON', false],
    ['original names, names of enums, and numbers as texts', true],
  ])('says the same as its message, with %s', (_what, isOriginal) => {
    fc.assert(
      fc.property(requests, (request) => {
        const json = JSON.parse(JSON.stringify(written(request, isOriginal))) as unknown;

        expect(requestOfJson(json)).toEqual(decodeRateLimitRequest(encodeRequest(request)));
      }),
      { seed: testSeed(19), numRuns: cases(1000) },
    );
  });

  it('may be what protobufjs writes', () => {
    const request = {
      domain: 'shop',
      descriptors: [{ entries: [{ key: 'a', value: 'b' }], limit: { requestsPerUnit: 5, unit: 3 } }],
    };
    const json = RequestType.toObject(RequestType.fromObject(request), { enums: String, longs: String });

    expect(requestOfJson(json)).toEqual(decodeRateLimitRequest(encodeRequest(request)));
  });

  it('takes null for no value', () => {
    const nothing = { domain: null, descriptors: null, hitsAddend: null };
    const descriptor = { entries: null, limit: null, hitsAddend: null, isNegativeHits: null };

    expect(requestOfJson(nothing)).toEqual({ domain: '', descriptors: [], hitsAddend: 0 });
    expect(requestOfJson({ descriptors: [descriptor] }).descriptors).toEqual([EMPTY]);
  });

  it.each([
    ['7', 7],
    ['1e2', 100],
    ['"1e2"', 100],
    ['"7"', 7],
    ['7.0', 7],
    ['-0', 0],
    ['9007199254740991', 2 ** 53 - 1],
    ['"9007199254740991"', 2 ** 53 - 1],
  ])('has the hits %s', (text, hits) => {
    const json = JSON.parse(`{"descriptors":[{"hitsAddend":${text}}]}`) as unknown;

    expect(requestOfJson(json).descriptors[0]?.hitsAddend).toBe(hits);
  });

  it('has hits beyond 2^53 that are no safe number, which the service does not take', () => {
    const json = { descriptors: [{ hitsAddend: '18446744073709551615' }] };

    expect(Number.isSafeInteger(requestOfJson(json).descriptors[0]?.hitsAddend)).toBe(false);
  });

  it('may have units that have no name', () => {
    expect(requestOfJson({ descriptors: [{ limit: { unit: 99 } }] }).descriptors[0]?.limit).toEqual({
      requestsPerUnit: 0,
      unit: 99,
    });
  });

  it.each([
    [null, 'the request: expected an object, got null'],
    ['shop', 'the request: expected an object, got "shop"'],
    [{ domain: 5 }, 'domain: expected a text, got 5'],
    [{ domain: '\ud800' }, 'domain: expected a text without half surrogate pairs, got "\\ud800"'],
    [{ domain: 'd'.repeat(1025) }, 'domain has bytes: at most 1024, got 1025'],
    [{ domain: 'ä'.repeat(513) }, 'domain has bytes: at most 1024, got 1026'],
    [{ hitsAddend: -1 }, 'hitsAddend: expected a whole number from 0 to 4294967295, got -1'],
    [{ hitsAddend: 2 ** 32 }, 'hitsAddend: expected a whole number from 0 to 4294967295, got 4294967296'],
    [{ hitsAddend: 1.5 }, 'hitsAddend: expected a whole number from 0 to 4294967295, got 1.5'],
    [{ hitsAddend: ' 1' }, 'hitsAddend: expected a whole number from 0 to 4294967295, got " 1"'],
    [{ hitsAddend: '0x10' }, 'hitsAddend: expected a whole number from 0 to 4294967295, got "0x10"'],
    [{ hitsAddend: '' }, 'hitsAddend: expected a whole number from 0 to 4294967295, got ""'],
    [{ hitsAddend: true }, 'hitsAddend: expected a whole number from 0 to 4294967295, got true'],
    [{ hits_addend: 1, hitsAddend: 1 }, 'the request has the field hitsAddend twice'],
    [{ descriptors: {} }, 'descriptors: expected a list, got an object'],
    [{ descriptors: [null] }, 'descriptors[0]: expected an object, got null'],
    [{ descriptors: Array(257).fill({}) }, 'a request has descriptors: at most 256, got 257'],
    [
      { descriptors: [{}, { key: 'a' }] },
      'descriptors[1] has no field "key"; known: entries, limit, hitsAddend, isNegativeHits',
    ],
    [{ descriptors: [{ entries: Array(65).fill({}) }] }, 'a descriptor has entries: at most 64, got 65'],
    [{ descriptors: [{ entries: [['a', 'b']] }] }, 'descriptors[0].entries[0]: expected an object, got a list'],
    [{ descriptors: [{ entries: [{ key: {} }] }] }, 'descriptors[0].entries[0].key: expected a text, got an object'],
    [
      { descriptors: [{ isNegativeHits: 'true' }] },
      'descriptors[0].isNegativeHits: expected true or false, got "true"',
    ],
    [
      { descriptors: [{ hitsAddend: { value: 1 } }] },
      'descriptors[0].hitsAddend: expected a whole number from 0 to 18446744073709551616, got an object',
    ],
    [{ descriptors: [{ limit: 5 }] }, 'descriptors[0].limit: expected an object, got 5'],
    [
      { descriptors: [{ limit: { unit: 'FORTNIGHT' } }] },
      'descriptors[0].limit.unit: expected one of UNKNOWN, SECOND, MINUTE, HOUR, DAY, MONTH, YEAR, got "FORTNIGHT"',
    ],
    [
      { descriptors: [{ limit: { unit: 2 ** 31 } }] },
      'descriptors[0].limit.unit: expected a whole number from -2147483648 to 2147483647, got 2147483648',
    ],
  ])('may not be %j', (json, message) => {
    expect(() => requestOfJson(json)).toThrow(new CallError(3, `${message}; nothing was consumed`));
  });

  it('may have no names of its prototype', () => {
    expect(() => requestOfJson(JSON.parse('{"__proto__":{"domain":"shop"}}'))).toThrow('has no field "__proto__"');
    expect(() => requestOfJson({ constructor: 1 })).toThrow('has no field "constructor"');
  });

  it('is read or rejected, whatever it is, and never anything else', () => {
    const names = fc.constantFrom('domain', 'descriptors', 'entries', 'limit', 'hits_addend', 'unit', 'key', 'value');
    const json = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        fc.oneof(fc.jsonValue({ maxDepth: 0 }), fc.integer(), fc.string({ unit: 'binary' })),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(names, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        try {
          requestOfJson(value);
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
        }
      }),
      { seed: testSeed(19), numRuns: cases(5000) },
    );
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serve, type Answer, type Served } from '../serve.ts';

const LIMITS = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 5, name: daily } }
  - { key: closed, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
`;
const TOKEN = 'secret-of-the-service';

let served: Served;
beforeAll(async () => {
  served = await serve(LIMITS, { http: '0.0.0.0:0', token: TOKEN });
});
afterAll(() => served.close());

const entries = (key: string, value = 'x'): object => ({ entries: [{ key, value }] });
function ask(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  return served.request('/json', {
    method: 'POST',
    body: sent,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

describe('POST /json', () => {
  it('answers 200 with a status of each descriptor, our fields and what decided', async () => {
    const { status, body, headers } = await ask({
      domain: 'shop',
      descriptors: [entries('user', 'ann'), entries('free'), entries('none')],
    });

    expect(status).toBe(200);
    expect(body).toMatchObject({
      overallCode: 'OK',
      statuses: [
        { code: 'OK', currentLimit: { name: 'daily', requestsPerUnit: 5, unit: 'DAY' }, limitRemaining: 4 },
        { code: 'OK', limitRemaining: 2 ** 32 - 1 },
        { code: 'OK' },
      ],
      dynamicMetadata: { source: 'memory', policy: 'day', outcome: 'allowed' },
    });
    expect(headers.get('ratelimit-policy')).toBe('"daily";q=5;w=86400');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('answers 429 with Retry-After when the limit is exceeded', async () => {
    const { status, body, headers } = await ask({
      domain: 'shop',
      descriptors: [entries('user', 'bob')],
      hits_addend: 6,
    });

    expect([status, (body as { overallCode: string }).overallCode]).toEqual([429, 'OVER_LIMIT']);
    expect((await ask({ domain: 'shop', descriptors: [entries('closed')] })).status).toBe(429);
    expect(headers.get('retry-after')).toBeNull(); // more than the limit never fits
  });

  it('reads names as JSON of protobuf or the .proto file has them, enums by name, and numbers as texts', async () => {
    const limit = { requestsPerUnit: '2', unit: 'HOUR' };
    const { body } = await ask({
      domain: 'shop',
      descriptors: [{ ...entries('user', 'eve'), limit, hits_addend: '2', isNegativeHits: null }],
    });

    expect(body).toMatchObject({ statuses: [{ currentLimit: { requestsPerUnit: 2, unit: 'HOUR' } }] });
  });

  it('gives hits back to callers with the token alone', async () => {
    const refund = {
      domain: 'shop',
      descriptors: [{ ...entries('user', 'ann'), hitsAddend: 1, isNegativeHits: true }],
    };

    expect((await ask(refund)).status).toBe(403);
    expect((await ask(refund, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  const many = (count: number): unknown[] => Array.from({ length: count }, () => entries('user'));
  it.each<[string, unknown, string]>([
    ['what is no JSON', '{', 'JSON'],
    ['a list', [], 'the request: expected an object, got a list'],
    ['an unknown field', { domain: 'shop', descriptor: [] }, 'the request has no field "descriptor"'],
    ['no domain', { descriptors: [entries('user')] }, 'the rate limit domain must not be empty'],
    ['no descriptors', { domain: 'shop' }, 'the list of descriptors must not be empty'],
    ['too many descriptors', { domain: 'shop', descriptors: many(257) }, 'at most 256, got 257'],
    ['a number for a text', { domain: 5 }, 'domain: expected a well-formed string, got 5'],
    ['half a surrogate pair', { domain: '\ud800' }, 'domain: expected a well-formed string'],
    [
      'a fraction',
      { domain: 'shop', hitsAddend: 1.5 },
      'hitsAddend: expected a whole number from 0 to 4294967295, got 1.5',
    ],
    [
      'an unknown unit',
      { domain: 'shop', descriptors: [{ limit: { unit: 'WEEK' } }] },
      'unit: expected one of UNKNOWN',
    ],
    [
      'too long a value',
      { domain: 'shop', descriptors: [entries('user', 'x'.repeat(8193))] },
      'at most 8192, got 8193',
    ],
  ])('answers 400 to %s', async (_what, body, expected) => {
    const answer = await ask(body);

    expect(answer.status).toBe(400);
    expect((answer.body as { detail: string }).detail).toContain(expected);
  });
});

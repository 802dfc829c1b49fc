import { expect } from '@jest/globals';
import { fixedWindow, redisStore } from '@sluice/old-core';
import { byAll, byHeader, byIp, byUser } from '@sluice/old-http';
import fc from 'fast-check';
import { cases } from '../depth.ts';
import { testSeed } from '../random.ts';
import { header, type AnyRequest, type Limit } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const once = fixedWindow({ limit: 1, window: '1h' });
const withKey = (key: string | readonly string[]): HttpRequest => ({ headers: { 'X-Api-Key': key } });

/** Texts that imitate a delimiter, a hash tag, an escape, the end of a text, or another text. */
const part = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      'a',
      'b',
      ':',
      '|',
      '%',
      '{',
      '}',
      '#',
      ' ',
      '\0',
      '7',
      'C',
      '\u00e9',
      'e\u0301',
      '\u{1f600}',
    ),
    minLength: 1,
    maxLength: 6,
  }),
  fc.constantFrom('__proto__', 'constructor', '#missing', 'undefined', 'null', '*', '{a}', '{a}b', 'a'.repeat(4000)),
);

/** One budget per key. */
export function keys(suite: Suite): void {
  describe.each(suite.stores)('keys of several parts, over $kind', (stores) => {
    it('have one budget each, with any client text in them (B8, B9, B10, B21)', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.tuple(part, part), {
            minLength: 2,
            maxLength: 12,
            selector: (parts) => JSON.stringify(parts),
          }),
          async (tuples) => {
            const server = await suite.serve({
              name: 'tuples',
              policy: once,
              key: ['x-first', 'x-second'].map(
                (name) => (request: AnyRequest) => decodeURIComponent(header(request, name) ?? ''),
              ),
              ...stores.fresh(),
            });
            const requests = tuples.map(([first, second]) => ({
              headers: { 'X-First': encodeURIComponent(first), 'X-Second': encodeURIComponent(second) },
            }));

            const statuses = [];
            for (const request of requests) statuses.push(...(await server.statuses(2, request)));

            expect(statuses).toEqual(tuples.flatMap(() => [200, 429]));
          },
        ),
        {
          numRuns: cases(6),
          seed: testSeed(42),
          examples: [
            [
              [
                ['a:b', 'c'],
                ['a', 'b:c'],
                ['a|b', 'c'],
                ['a', 'b|c'],
                ['a%7Cb', 'c'],
                ['{a}b', 'c'],
                ['{a}', 'bc'],
                ['a\0', 'b'],
                ['a', '\0b'],
                ['\u00e9', 'b'],
                ['e\u0301', 'b'],
                ['a'.repeat(4000), 'b'],
                ['a'.repeat(4001), 'b'],
                ['__proto__', 'b'],
              ],
            ],
          ],
        },
      );
    });
  });

  it('keys in Redis keep their hash tag and their length, with any client text in them (B9, B10)', async () => {
    const { admin, client } = suite.redis;
    const prefix = suite.prefix();
    const server = await suite.serve({
      name: 'tags',
      policy: once,
      key: byHeader('x-api-key'),
      store: redisStore(client, { prefix }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    const sent = ['{a}', '{a}b', '}{', 'a}b{c', '{}', 'a{b', 'k'.repeat(257), 'k'.repeat(2000), 'k'.repeat(8000)];

    for (const key of sent) await server.send(withKey(key));
    const stored = await admin.keys(`${prefix}:*`);

    expect(server.calls.count).toBe(sent.length);
    expect(stored).toHaveLength(sent.length);
    for (const key of stored) expect(key.replace(prefix, 'prefix')).toMatch(/^prefix:\{#[\w-]{22}\}:tags:[^{}]+$/);
    expect(new Set(stored.map(({ length }) => length)).size).toBe(1);
  });

  describe.each(PLACES)('a key, %s', (place) => {
    it.each<[string, Limit['key'], Record<string, string>, string]>([
      ['byIp() by default', undefined, {}, '127.0.0.1'],
      ['byAll()', byAll(), {}, '*'],
      ['byHeader(), however its name is spelt', byHeader('X-API-Key'), { 'x-api-key': 'k1' }, 'k1'],
      ['byUser(), from where authentication leaves it', byUser(), { 'X-User': 'ann' }, 'ann'],
      [
        'byUser(pick)',
        byUser((request: AnyRequest) => `of ${String(header(request, 'x-user'))}`),
        { 'X-User': 'ann' },
        'of ann',
      ],
      ['a function', (request) => header(request, 'x-api-key'), { 'X-Api-Key': 'k2' }, 'k2'],
      ['a function that returns a number', () => 42, {}, '42'],
      ['an async function', async () => Promise.resolve('later'), {}, 'later'],
      [
        'a list',
        [byIp(), byHeader('x-api-key'), async () => Promise.resolve('z')],
        { 'X-Api-Key': 'k' },
        '127.0.0.1|k|z',
      ],
    ])('may be %s, and is set on the request with the decision', async (_what, key, headers, expected) => {
      const server = await suite.serve(
        { name: 'keyed', policy: fixedWindow({ limit: 5, window: '1h' }), ...(key === undefined ? {} : { key }) },
        { place, users: true },
      );

      await server.send({ headers });

      expect(server.calls.all[0]?.rateLimit).toMatchObject({
        key: expected,
        decision: { allowed: true, outcome: 'allowed', policy: 'keyed', limit: 5, remaining: 4 },
      });
    });

    it('by user has a budget per user', async () => {
      const server = await suite.serve({ name: 'users', policy: once, key: byUser() }, { place, users: true });

      const statuses = [];
      for (const user of ['ann', 'ann', 'bob', '__proto__', 'constructor', '__proto__']) {
        statuses.push((await server.send({ headers: { 'X-User': user } })).status);
      }

      expect(statuses).toEqual([200, 429, 200, 200, 200, 429]);
    });

    it.each<[string, Limit]>([
      ['by default', { policy: once, key: byHeader('x-api-key') }],
      ['with onMissingKey: "deny"', { policy: once, key: byHeader('x-api-key'), onMissingKey: 'deny' }],
      ['where one part of several is missing', { policy: once, key: [byIp(), byHeader('x-api-key')] }],
      ['where a function returns null', { policy: once, key: () => null }],
    ])('that is missing leads to 403 %s, with problem details and without fields (B21)', async (_said, options) => {
      const server = await suite.serve({ name: 'missing', ...options }, { place });

      const answer = await server.send();

      expect(answer.status).toBe(403);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
      expect(answer.headers['ratelimit']).toBeUndefined();
      expect(answer.headers['retry-after']).toBeUndefined();
      expect(answer.body).toBe(
        '{"type":"about:blank","title":"Forbidden","status":403,"detail":"The request has no rate-limit key (such as a client address or user)."}',
      );
      expect(server.calls.count).toBe(0);
    });

    it('that is empty is missing (B21)', async () => {
      const server = await suite.serve({ name: 'empty', policy: once, key: byHeader('x-api-key') }, { place });

      expect(await server.statuses(1, withKey(''))).toEqual([403]);
    });

    it('that is missing means no limit with onMissingKey: "skip" (B21)', async () => {
      const server = await suite.serve(
        { name: 'missing', policy: once, key: byHeader('x-api-key'), onMissingKey: 'skip' },
        { place },
      );

      const without = [await server.send(), await server.send()];
      const statuses = await server.statuses(2, withKey('k'));

      expect(without.map(({ status }) => status)).toEqual([200, 200]);
      expect(without[1]?.headers['ratelimit']).toBeUndefined();
      expect(statuses).toEqual([200, 429]);
    });

    it('that is missing leads to one shared budget with onMissingKey: "shared", which no key can name (B21)', async () => {
      const server = await suite.serve(
        { name: 'missing', policy: once, key: byHeader('x-api-key'), onMissingKey: 'shared' },
        { place },
      );

      const first = await server.statuses(1);
      const named = [];
      for (const key of ['#missing', 'undefined', 'null', 'missing'])
        named.push(...(await server.statuses(1, withKey(key))));
      const second = await server.statuses(1);

      expect([first, named, second]).toEqual([[200], [200, 200, 200, 200], [429]]);
    });

    it('in a header that is sent twice is one key, without a second budget (B21)', async () => {
      const server = await suite.serve({ name: 'twice', policy: once, key: byHeader('x-api-key') }, { place });

      const statuses = await server.statuses(3, withKey(['k1', 'k2']));

      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
      expect(statuses.slice(1)).toEqual([statuses[1], statuses[1]]);
      expect(statuses[1]).toBeGreaterThanOrEqual(400);
      expect(statuses[1]).toBeLessThan(500);
    });
  });
}

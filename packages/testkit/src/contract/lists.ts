import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byHeader, byIp } from '@sluice/old-http';
import type { Limit } from './adapter.ts';
import type { HttpAnswer, HttpRequest } from './http-client.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const once = fixedWindow({ limit: 1, window: '1h' });
const as = (address: string, key?: string): HttpRequest => ({
  headers: { 'X-Forwarded-For': address, ...(key === undefined ? {} : { 'X-Api-Key': key }) },
});

function expectForbidden({ status, headers, body }: HttpAnswer): void {
  expect(status).toBe(403);
  expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
  for (const name of ['ratelimit', 'ratelimit-policy', 'retry-after']) expect(headers[name]).toBeUndefined();
  expect(body).toBe('{"type":"about:blank","title":"Forbidden","status":403}');
}

/** The options `allow` and `deny`. */
export function lists(suite: Suite): void {
  describe.each(PLACES)('a list of a limit %s', (place) => {
    const serve = (options: Limit): ReturnType<Suite['serve']> =>
      suite.serve({ name: 'listed', policy: once, ...options }, { place, trustLoopback: true });

    it.each([
      ['an address', '203.0.113.7', '203.0.113.7', '203.0.113.8'],
      ['an address in another spelling', '203.0.113.7', '::ffff:cb00:7107', '::ffff:cb00:7108'],
      ['an IPv4-mapped address', '::ffff:203.0.113.7', '203.0.113.7', '203.0.113.8'],
      ['a range', '203.0.113.0/25', '203.0.113.127', '203.0.113.128'],
      ['an IPv6 range', '2001:db8::/32', '2001:DB8:ffff::1', '2001:db9::1'],
    ])('that denies %s responds with 403, and affects no other client', async (_what, entry, denied, other) => {
      const server = await serve({ deny: [entry] });

      const answer = await server.send(as(denied));
      const passed = await server.statuses(1, as(other));

      expectForbidden(answer);
      expect(passed).toEqual([200]);
      expect(server.calls.count).toBe(1);
    });

    it.each([
      ['an address', '203.0.113.7', '203.0.113.7', '203.0.113.8'],
      ['a range', '203.0.113.0/25', '203.0.113.127', '203.0.113.128'],
      ['an IPv6 range', '2001:db8::/32', '2001:DB8:ffff::1', '2001:db9::1'],
    ])('that allows %s neither counts nor denies it', async (_what, entry, allowed, other) => {
      const server = await serve({ allow: [entry] });

      const free = await server.statuses(3, as(allowed));
      const counted = await server.statuses(2, as(other));

      expect(free).toEqual([200, 200, 200]);
      expect(counted).toEqual([200, 429]);
      expect(server.calls.all[0]?.rateLimit).toBeUndefined();
    });

    it('may name keys', async () => {
      const server = await serve({ key: byHeader('x-api-key'), allow: ['partner'], deny: ['stolen'] });

      const free = await server.statuses(3, as('203.0.113.7', 'partner'));
      const forbidden = await server.send(as('203.0.113.7', 'stolen'));
      const counted = await server.statuses(2, as('203.0.113.7', 'other'));

      expect(free).toEqual([200, 200, 200]);
      expectForbidden(forbidden);
      expect(counted).toEqual([200, 429]);
    });

    it.each<[string, Limit]>([
      ['by address over one by range', { deny: ['203.0.113.7'], allow: ['203.0.113.0/24'] }],
      ['by address over one by key', { deny: ['203.0.113.7'], allow: ['k'] }],
      ['by key over one by address', { deny: ['k'], allow: ['203.0.113.7'] }],
      ['by key over the same key', { deny: ['k'], allow: ['k'] }],
    ])('that denies takes precedence over one that allows: %s', async (_which, options) => {
      const server = await serve({ key: byHeader('x-api-key'), ...options });

      expectForbidden(await server.send(as('203.0.113.7', 'k')));
    });

    it('ignores an address that a client only claims', async () => {
      const server = await suite.serve(
        { name: 'listed', policy: once, key: byIp(), allow: ['203.0.113.7'], deny: ['203.0.113.66'] },
        { place },
      );

      const statuses = [
        ...(await server.statuses(2, as('203.0.113.7'))),
        ...(await server.statuses(1, as('203.0.113.66'))),
      ];

      expect(statuses).toEqual([200, 429, 429]);
    });
  });
}

import { expect } from '@jest/globals';
import { byHeader, byIp, byUser } from '@sluice/old-http';
import { fixedWindow } from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { numberIn } from './adapter.ts';
import type { HttpAnswer, HttpRequest } from './http-client.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';
import { watched } from './watched-store.ts';

const twoPerIp = { name: 'per-ip', policy: fixedWindow({ limit: 2, window: '1s' }), key: byIp() };
const threePerUser = { name: 'per-user', policy: fixedWindow({ limit: 3, window: '1h' }), key: byUser() };

const as = (address: string, user?: string): HttpRequest => ({
  headers: { 'X-Forwarded-For': address, ...(user === undefined ? {} : { 'X-User': user }) },
});
const stateOf = ({ headers }: HttpAnswer): string | undefined => headers['ratelimit'];

/** Several limits of one place, decided together, all or nothing. */
export function severalLimits(suite: Suite): void {
  const clients = { trustLoopback: true, users: true };

  describe.each(suite.everywhere)('several limits $place, over $kind', ({ stores, place }) => {
    it('are decided in one call of the store', async () => {
      const exactly = watched(stores.fresh(fakeClock()));
      const server = await suite.serve(
        { name: 'several', limits: [twoPerIp, threePerUser], ...exactly },
        { place, ...clients },
      );

      const answer = await server.send(as('203.0.113.1', 'ann'));

      expect(exactly.store.calls.count).toBe(1);
      expect(stateOf(answer)).toBe('"per-ip";r=1;t=1, "per-user";r=2;t=3600');
      expect(server.calls.all[0]?.rateLimit?.key).toEqual({ 'per-ip': '203.0.113.1', 'per-user': 'ann' });
    });

    it('consume nothing from any when one denies (B25)', async () => {
      const server = await suite.serve(
        { name: 'several', limits: [twoPerIp, threePerUser], ...stores.fresh(fakeClock()) },
        { place, ...clients },
      );
      await server.statuses(2, as('203.0.113.1', 'ann'));

      const denied = [await server.send(as('203.0.113.1', 'ann')), await server.send(as('203.0.113.1', 'ann'))];
      const third = await server.send(as('203.0.113.2', 'ann'));
      const fourth = await server.send(as('203.0.113.2', 'ann'));
      const other = await server.send(as('203.0.113.2', 'bob'));

      expect(denied.map(({ status }) => status)).toEqual([429, 429]);
      expect(denied.map(stateOf)).toEqual([
        '"per-ip";r=0;t=1, "per-user";r=1;t=3600',
        '"per-ip";r=0;t=1, "per-user";r=1;t=3600',
      ]);
      expect(denied[1]?.body).toContain('"violated-policies":["per-ip"]');
      expect([third.status, fourth.status, other.status]).toEqual([200, 429, 200]);
      expect(fourth.body).toContain('"violated-policies":["per-user"]');
      expect(stateOf(other)).toBe('"per-ip";r=0;t=1, "per-user";r=2;t=3600');
    });

    it('wait for the longest of those that denied', async () => {
      const server = await suite.serve(
        { name: 'several', limits: [twoPerIp, threePerUser], ...stores.fresh(fakeClock()) },
        { place, ...clients },
      );
      await server.send(as('203.0.113.1', 'ann'));
      await server.statuses(2, as('203.0.113.2', 'ann'));

      const denied = await server.send(as('203.0.113.2', 'ann'));

      expect(denied.headers['retry-after']).toBe('3600');
      expect(denied.body).toContain('"violated-policies":["per-ip","per-user"]');
    });

    it('skip the limit per user when there is no user', async () => {
      const server = await suite.serve(
        { name: 'several', limits: [twoPerIp, threePerUser], ...stores.fresh(fakeClock()) },
        { place, ...clients },
      );

      const answers = [await server.send(as('203.0.113.1')), await server.send(as('203.0.113.1'))];
      const denied = await server.send(as('203.0.113.1'));

      expect(answers.map(stateOf)).toEqual(['"per-ip";r=1;t=1', '"per-ip";r=0;t=1']);
      expect(denied.status).toBe(429);
    });

    it('limit nothing when every limit is skipped', async () => {
      const server = await suite.serve(
        {
          name: 'several',
          limits: [threePerUser, { ...threePerUser, name: 'per-key', key: byHeader('x-api-key') }],
          ...stores.fresh(fakeClock()),
        },
        { place, ...clients },
      );

      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await server.send(as('203.0.113.1')));

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(answers.map(stateOf)).toEqual([undefined, undefined, undefined, undefined]);
      expect(server.calls.all[0]?.rateLimit).toBeUndefined();
    });

    it('deny with 403 when one with that option has no key, and consume nothing from the others', async () => {
      const server = await suite.serve(
        {
          name: 'several',
          limits: [twoPerIp, { ...threePerUser, onMissingKey: 'deny' }],
          ...stores.fresh(fakeClock()),
        },
        { place, ...clients },
      );

      const denied = await server.send(as('203.0.113.1'));
      const allowed = await server.send(as('203.0.113.1', 'ann'));

      expect(denied.status).toBe(403);
      expect(stateOf(allowed)).toBe('"per-ip";r=1;t=1, "per-user";r=2;t=3600');
    });

    it('may each have a cost, with a default for the others; 0 skips a limit (B15)', async () => {
      const perMinute = (limit: number) => fixedWindow({ limit, window: '60s' });
      const server = await suite.serve(
        {
          name: 'several',
          limits: [
            { name: 'requests', policy: perMinute(10), cost: 1 },
            { name: 'bytes', policy: perMinute(100), cost: (request) => numberIn(request, 'x-bytes', 0) },
            { name: 'units', policy: perMinute(10) },
          ],
          cost: 3,
          ...stores.fresh(fakeClock()),
        },
        { place },
      );

      const answers = [await server.send({ headers: { 'X-Bytes': '40' } }), await server.send()];

      expect(answers.map(stateOf)).toEqual([
        '"requests";r=9;t=60, "bytes";r=60;t=60, "units";r=7;t=60',
        '"requests";r=8;t=60, "units";r=4;t=60',
      ]);
    });
  });

  it('a limit per address applies beside one by an unverified key (B22)', async () => {
    const server = await suite.serve({
      name: 'unverified',
      limits: [
        { name: 'per-key', policy: fixedWindow({ limit: 2, window: '1h' }), key: byHeader('authorization') },
        { name: 'per-ip', policy: fixedWindow({ limit: 5, window: '1h' }), key: byIp() },
      ],
    });

    const statuses = [];
    for (let i = 0; i < 10; i++) {
      statuses.push(...(await server.statuses(1, { headers: { Authorization: `Bearer ${String(i)}` } })));
    }

    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429]);
    expect(server.calls.count).toBe(5);
  });

  it('a limit per address and account does not lock other clients out of the account (B24)', async () => {
    const account = byHeader('x-account');
    const server = await suite.serve(
      {
        name: 'login',
        limits: [
          { name: 'pair', policy: fixedWindow({ limit: 3, window: '1h' }), key: [byIp(), account] },
          { name: 'account', policy: fixedWindow({ limit: 10, window: '1h' }), key: account },
        ],
      },
      { trustLoopback: true },
    );
    const login = (address: string): HttpRequest => ({ headers: { 'X-Forwarded-For': address, 'X-Account': 'ann' } });

    const attacker = await server.statuses(20, login('203.0.113.66'));
    const owner = await server.statuses(1, login('203.0.113.1'));

    expect(attacker.filter((status) => status === 200)).toHaveLength(3);
    expect(owner).toEqual([200]);
  });
}

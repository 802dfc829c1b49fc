import { Redis } from 'ioredis';
import { expect } from '@jest/globals';
import { fixedWindow, redisStore, type OnStoreError } from '@sluice/old-core';
import { startTcpProxy } from '../tcp-proxy.ts';
import type { Limit } from './adapter.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';
import { failingStore } from './watched-store.ts';

const once = fixedWindow({ limit: 1, window: '1h' });
const fail = (): never => {
  throw new Error('broken');
};
const failLater = async (): Promise<never> => Promise.reject(new Error('broken'));

/** Stores that fail, and options that throw: no request passes, and none hangs. */
export function failures(suite: Suite): void {
  describe.each(PLACES)('a limit %s', (place) => {
    it.each<[string, Limit]>([
      ['key', { key: fail }],
      ['key, later', { key: failLater }],
      ['a part of the key', { key: [() => 'k', failLater] }],
      ['cost', { cost: fail }],
      ['cost, later', { cost: failLater }],
      ['skip', { skip: fail }],
      ['skip, later', { skip: failLater }],
      ['policy', { policy: fail }],
      ['policy, later', { policy: failLater }],
      ['onDecision', { onDecision: fail }],
      ['onDecision, later', { onDecision: failLater }],
    ])('lets no request pass, and hangs none, when %s throws: 500', async (_which, options) => {
      const server = await suite.serve({ name: 'broken', policy: once, ...options }, { place });

      const answer = await server.send();

      expect(answer.status).toBe(500);
      expect(answer.headers['ratelimit']).toBeUndefined();
      expect(server.calls.count).toBe(0);
    });

    it.each([
      ['', fail],
      [', later', failLater],
    ])('lets no request pass, and hangs none, when onDenied throws%s', async (_when, onDenied) => {
      const server = await suite.serve({ name: 'broken', policy: once, onDenied }, { place });
      await server.send();

      const answer = await server.send();

      // The status is already 429, and some frameworks keep an error status.
      expect([429, 500]).toContain(answer.status);
      expect(server.calls.count).toBe(1);
    });

    it.each([undefined, null, '', 0, false, 'route', 'router'])(
      'lets no request pass when %p is thrown',
      async (thrown) => {
        const server = await suite.serve(
          {
            name: 'broken',
            policy: once,
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- applications throw such values
            key: async () => Promise.reject(thrown),
          },
          { place },
        );

        const answer = await server.send();

        expect(answer.status).toBe(500);
        expect(server.calls.count).toBe(0);
      },
    );

    it('consumes nothing when a function throws before the decision', async () => {
      const costs = [fail, () => 1];
      const server = await suite.serve({ name: 'broken', policy: once, cost: () => costs.shift()?.() ?? 1 }, { place });
      await server.send();

      expect(await server.statuses(2)).toEqual([200, 429]);
    });

    describe.each(['rejects', 'throws', 'never answers'] as const)('when the store %s', (how) => {
      it.each<[OnStoreError | undefined, number[]]>([
        ['local', [200, 429]],
        [undefined, [200, 429]],
        ['allow', [200, 200]],
        ['deny', [503, 503]],
        ['throw', [500, 500]],
      ])('follows onStoreError: %p', async (onStoreError, expected) => {
        const server = await suite.serve(
          {
            name: 'away',
            policy: once,
            store: failingStore(how),
            timeoutMs: 1,
            ...(onStoreError === undefined ? {} : { onStoreError }),
          },
          { place },
        );

        expect(await server.statuses(2)).toEqual(expected);
        expect(server.calls.count).toBe(expected.filter((status) => status === 200).length);
      });
    });
  });

  it('follows each onStoreError when Redis is away', async () => {
    const { host, port } = suite.redis.server;
    const proxy = await startTcpProxy({ host, port });
    const client = new Redis(proxy.through(suite.redis.server.storeUrl), { retryStrategy: () => null });
    client.on('error', () => {});
    const modes: readonly OnStoreError[] = ['local', 'allow', 'deny', 'throw'];
    const servers = [];
    for (const onStoreError of modes) {
      const store = redisStore(client, { prefix: suite.prefix() });
      const how = { onStoreError, timeoutMs: 60_000, denialCache: false }; // what is known of a key would deny it still
      servers.push(await suite.serve({ name: 'gone', policy: once, store, ...how }));
    }

    const before = [];
    for (const server of servers) before.push(await server.statuses(2));
    proxy.close();
    const after = [];
    for (const server of servers) after.push(await server.statuses(2));

    expect(before).toEqual(modes.map(() => [200, 429]));
    expect(after).toEqual([
      [200, 429],
      [200, 200],
      [503, 503],
      [500, 500],
    ]);
  });
}

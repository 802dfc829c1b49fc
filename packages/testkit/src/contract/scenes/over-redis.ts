import { Redis } from 'ioredis';
import { expect } from '@jest/globals';
import { redisStore } from '@sluice/core';
import { byAll, byIp } from '@sluice/core/http';
import { startTcpProxy } from '../../tcp-proxy.ts';
import { hourly } from '../row.ts';
import { scene, type Scene, type Way } from '../stage.ts';
import { OUTCOMES } from '../stores.ts';

const OVER_REDIS: readonly Way[] = ['over Redis'];
/** What only a real Redis shows. */
export const overRedis: readonly Scene[] = [
  scene('several limits are decided in one call of Redis', OVER_REDIS, async (stage) => {
    const keys = [byIp(), byAll()];
    const limits = keys.map((key, i) => ({ name: `limit-${String(i)}`, policy: hourly(5), key }));
    const server = await stage.serve({ limits });
    const { admin } = stage.redis;
    await server.send(); // loads the script
    await admin.config('RESETSTAT');

    const { headers } = await server.send();

    expect(headers['ratelimit']).toMatch(/^"limit-0";r=3;t=\d+, "limit-1";r=3;t=\d+$/);
    expect(await admin.info('commandstats')).toContain('cmdstat_evalsha:calls=1,');
  }),
  ...(['is gone', 'hangs'] as const).map((how) =>
    scene(`each onStoreError is followed if Redis ${how}`, OVER_REDIS, async (stage) => {
      const { host, port, storeUrl } = stage.redis.server;
      const proxy = await startTcpProxy({ host, port });
      const client = new Redis(proxy.through(storeUrl), { retryStrategy: () => null });
      client.on('error', () => {});
      stage.atEnd(() => {
        client.disconnect();
        proxy.close();
      });
      const servers = [];
      for (const [onStoreError] of OUTCOMES) {
        const store = redisStore(client, { prefix: `sluice:${how.replace(' ', '-')}-${onStoreError}` });
        // What is known of a key would deny it still.
        servers.push(
          await stage.serve({ policy: hourly(1), store, onStoreError, timeoutMs: 1000, denialCache: false }),
        );
      }

      const before = [];
      for (const server of servers) before.push(await server.statuses(2));
      if (how === 'hangs') proxy.hang();
      else proxy.close();
      const after = await Promise.all(servers.map((server) => server.statuses(2)));

      expect(before).toEqual(OUTCOMES.map(() => [200, 429]));
      expect(after).toEqual(OUTCOMES.map(([, statuses]) => statuses));
    }),
  ),
];

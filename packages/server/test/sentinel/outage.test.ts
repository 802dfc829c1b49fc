import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisStore, type RedisStore } from '@sluice/core';
import { startRedis, startTcpProxy, until, type RedisServer, type TcpProxy } from '@sluice/testkit';
import { flow, paramFlow, text } from './frames.ts';
import { SentinelService, limitsOf } from './sentinel-service.ts';

const [OK, BLOCKED] = [0, 1];
/** As the service answers clients of Sentinel. */
const LONGEST_MS = 15;

let redis: RedisServer;
let proxy: TcpProxy;
let store: RedisStore;
let admin: Redis;
let service: SentinelService;
beforeAll(async () => {
  redis = await startRedis();
  proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.port });
  admin = new Redis(redis.url);
  store = redisStore(proxy.through(redis.storeUrl), { prefix: 'sluice' });
  await store.ready(60_000);
  const rules = [
    { flowId: 101, count: 3 },
    { flowId: 201, count: 3, items: [] },
  ];
  service = await SentinelService.start(limitsOf(rules), store, LONGEST_MS);
});
afterAll(async () => {
  await service.close();
  await store.close();
  proxy.close();
  admin.disconnect();
  await redis.stop();
});

describe('while Redis hangs', () => {
  it('requests are answered from the local fallback, within its limit, and shared again afterwards', async () => {
    const client = await service.connect();
    proxy.hang();

    // Redis answers none of these: without the fallback they would have no answer at all.
    const flows = await client.ask(...[1, 2, 3, 4].map((xid) => flow(xid, 101)));
    const params = await client.ask(paramFlow(5, 201, 2, text('ann'), text('bob')), paramFlow(6, 201, 2, text('bob')));

    expect(flows.map(({ status }) => status)).toEqual([OK, OK, OK, BLOCKED]);
    expect(params.map(({ status }) => status)).toEqual([OK, BLOCKED]);
    await proxy.heal();
    await until('Redis decides', async () => {
      await client.ask(paramFlow(7, 201, 1, text('later')));
      return (await admin.keys('*string:later*')).length > 0;
    });
  });
});

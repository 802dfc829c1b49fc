import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { concurrency, createLimiter, redisStore, slidingLog } from '@sluice/old-core';
import { startRedisCluster, STORE_USER, until, type RedisCluster } from '@sluice/testkit';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster(3);
  client = new Cluster(
    cluster.nodes.map(({ host, port }) => ({ host, port })),
    { redisOptions: { username: STORE_USER.name, password: STORE_USER.password } },
  );
});
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const users = Array.from({ length: 12 }, (_, i) => `user-${String(i)}`);

it('slots whose keys live on different nodes of a cluster are held all or none', async () => {
  const limiter = createLimiter({
    name: 'apart',
    store: redisStore(client, { prefix: 'sluice' }),
    limits: [
      { name: 'per-user', policy: concurrency({ limit: 2, ttl: '1h' }) },
      { name: 'in-all', policy: concurrency({ limit: 6, ttl: '1h' }) },
    ],
    ...strict,
  });
  const nodes = new Set(
    await Promise.all(users.map((user) => cluster.admin.primaryOf(`sluice:{${user}}:per-user:2c`))),
  );

  const all = await Promise.all(users.map((user) => limiter.acquire({ 'per-user': user, 'in-all': 'all' })));
  const held = all.filter(({ decision }) => decision.allowed);

  expect(nodes.size).toBeGreaterThan(1);
  expect(held.length).toBeLessThanOrEqual(6);
  const perUser = async (): Promise<number[]> =>
    Promise.all(users.map(async (user) => (await limiter.peek({ 'per-user': user }, 0)).remaining));
  await until('what was denied is given back', async () => {
    const left = await perUser();
    return all.every(({ decision }, i) => left[i] === (decision.allowed ? 1 : 2));
  });
  for (const one of held) {
    expect(await one.renew()).toBe(true);
    await one.release();
  }
  expect((await limiter.peek({ 'in-all': 'all' }, 0)).remaining).toBe(6);
  expect(await perUser()).toEqual(users.map(() => 2));
});

it('a log lives on the node of its value', async () => {
  const limiter = createLimiter({
    name: 'log',
    policy: slidingLog({ limit: 2, window: '1h' }),
    store: redisStore(client, { prefix: 'sluice' }),
    ...strict,
  });

  const allowed = await Promise.all(
    users.map(async (user) => {
      const decisions = await Promise.all([1, 2, 3].map(() => limiter.consume(user)));
      return decisions.filter(({ allowed }) => allowed).length;
    }),
  );

  expect(allowed).toEqual(users.map(() => 2));
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { createLimiter, fixedWindow, redisStore, tokenBucket, type Limiter } from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/old-managed';
import { startRedisCluster, until, type RedisCluster } from '@sluice/testkit';
import { recordsIn } from './delayed-source.ts';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster(3);
  client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
});
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((closable) => closable.close()));
});
const kept = <T extends { close(): Promise<void> }>(closable: T): T => {
  open.push(closable);
  return closable;
};

const strict = { app: 'checkout', onStoreError: 'throw', timeoutMs: 20_000 } as const;
const apps = ['checkout'];
const ten = fixedWindow({ limit: 10, window: '1h' });
const keys = Array.from({ length: 30 }, (_, i) => `client-${String(i)}`);

/** The policies as seen by a process that keeps the first version it loaded until the test lets it load again. */
async function heldPolicies(): Promise<{ policies: Policies; release(): void }> {
  let isHeld = true;
  const before = await recordsIn(client);
  const source: PolicySource = { load: () => (isHeld ? Promise.resolve(before) : recordsIn(client)) };
  return {
    policies: kept(createPolicies(source)),
    release: () => {
      isHeld = false;
    },
  };
}

describe('managed policies in a cluster of three', () => {
  it('are put once, and hold for keys on every node, through ioredis and node-redis', async () => {
    const rootNodes = cluster.nodes.map(({ url }) => ({ url }));
    const nodeRedis = createCluster({ rootNodes });
    await nodeRedis.connect();
    const here = kept(createPolicies(client, { prefix: 'sluice' }));
    await here.put('orders', ten, { apps });
    const orders = kept(
      createLimiter({ policy: managed('orders'), store: redisStore(client, { prefix: 'sluice' }), ...strict }),
    );
    const elsewhere = kept(
      createLimiter({ policy: managed('orders'), store: redisStore(nodeRedis, { prefix: 'sluice' }), ...strict }),
    );

    const allowed = await Promise.all(
      keys.map(async (key) => {
        const decisions = await Promise.all(
          Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? orders : elsewhere).consume(key)),
        );
        return decisions.filter(({ allowed }) => allowed).length;
      }),
    );
    await here.put('orders', tokenBucket({ capacity: 25, refill: 1, every: '1h' }), { apps });
    for (const limiter of [orders, elsewhere]) {
      await until('the change is known', async () => (await limiter.peek('other')).limit === 25);
    }
    const after = await Promise.all(keys.map((key, i) => (i % 2 === 0 ? orders : elsewhere).consume(key)));

    expect(allowed).toEqual(keys.map(() => 10));
    expect(new Set(after.map(({ remaining }) => remaining))).toEqual(new Set([14]));
    expect((await createPolicies(nodeRedis, { prefix: 'sluice' }).list()).map(({ name }) => name)).toEqual(['orders']);
    await elsewhere.close();
    await nodeRedis.close();
  });

  it('publish a change at every node with a subscription', async () => {
    const here = kept(createPolicies(client, { prefix: 'sluice' }));
    await here.put('told', ten, { apps });
    const limiters = Array.from({ length: 4 }, (): Limiter => {
      const own = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
      const limiter = createLimiter({
        policy: managed('told'),
        store: redisStore(own, { prefix: 'sluice' }),
        ...strict,
      });
      return kept({
        ...limiter,
        consume: (key) => limiter.consume(key),
        peek: (key) => limiter.peek(key),
        close: async () => {
          await limiter.close();
          own.disconnect();
        },
      });
    });
    await Promise.all(limiters.map((limiter) => limiter.consume('ann')));

    await here.put('told', fixedWindow({ limit: 11, window: '1h' }), { apps });

    for (const limiter of limiters) {
      await until('the change is known', async () => (await limiter.peek('ann')).limit === 11);
    }
    expect((await limiters[0]?.peek('ann'))?.remaining).toBe(7);
  });

  it('give back what other nodes took when the state on one of them is of a newer version, and then decide', async () => {
    const here = kept(createPolicies(client, { prefix: 'sluice' }));
    await here.put('per-user', ten, { apps });
    const held = await heldPolicies();
    const limits = [
      { name: 'per-ip', policy: fixedWindow({ limit: 100, window: '1h' }) },
      { name: 'user', policy: managed('per-user') },
    ] as const;
    const slow = kept(
      createLimiter({
        name: 'slow',
        limits,
        policies: held.policies,
        store: redisStore(client, { prefix: 'sluice' }),
        ...strict,
      }),
    );
    const quick = kept(
      createLimiter({
        name: 'quick',
        policy: managed('per-user'),
        store: redisStore(client, { prefix: 'sluice' }),
        ...strict,
      }),
    );
    const pairs = keys.map((key, i) => ({ 'per-ip': `192.0.2.${String(i)}`, user: key }));
    for (const pair of pairs) await slow.consume(pair);
    await here.put('per-user', fixedWindow({ limit: 20, window: '1h' }), { apps });
    await until('the change is known', async () => (await quick.peek('other')).limit === 20);
    for (const { user } of pairs) await quick.consume(user);

    const failed = await Promise.allSettled(pairs.map((pair) => slow.consume(pair)));
    const left = await until('what was consumed is refunded', async () => {
      const peeked = await Promise.all(pairs.map((pair) => slow.peek({ 'per-ip': pair['per-ip'] })));
      return peeked.every(({ remaining }) => remaining === 99) && peeked.length;
    });
    held.release();
    const decided = await Promise.all(pairs.map((pair) => slow.consume(pair, 2)));

    expect(failed.map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code)).toEqual(
      pairs.map(() => 'SLUICE_POLICY_STALE'),
    );
    expect(left).toBe(keys.length);
    for (const { policies } of decided) expect(policies.map(({ remaining }) => remaining)).toEqual([97, 16]);
    const after = await Promise.all(pairs.map((pair) => slow.peek(pair)));
    for (const { policies } of after) expect(policies.map(({ remaining }) => remaining)).toEqual([97, 16]);
  });
});

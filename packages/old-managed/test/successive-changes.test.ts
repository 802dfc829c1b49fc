import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  type Decision,
  type Limiter,
  type OnStoreError,
  type RedisClient,
} from '@sluice/old-core';
import { managed, type Policies, type PolicySource } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { recordsIn } from './delayed-source.ts';
import { isOfOverrides } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, keep } = useManaged();

const apps = ['checkout'];
const policy = managed('orders');
const limitOf = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

interface SlowClient extends RedisClient {
  /** Happens before every decision is sent. */
  before: () => Promise<void>;
  /** How many were. */
  decisions: number;
}

/** A client that can be held up. It hears of changes by asking alone. */
function slowClient(): SlowClient {
  const client: SlowClient = {
    decisions: 0,
    before: () => Promise.resolve(),
    async evalsha(sha1, keys, args) {
      if (keys[0] !== 'sluice:policies' && !isOfOverrides(keys)) {
        client.decisions++;
        await client.before();
      }
      return redis.admin.evalsha(sha1, keys.length, ...keys, ...args);
    },
    eval: (script, keys, args) => redis.admin.eval(script, keys.length, ...keys, ...args),
  };
  return client;
}

/**
 * Changes the policy and uses the key through another limiter, so that limiters with the version before find it
 * stale.
 */
function changing(here: Policies): () => Promise<void> {
  let limit = 100;
  const other = limiter({ policy });
  return async () => {
    limit++;
    await here.put('orders', limitOf(limit), { apps });
    await until('the other knows it', async () => (await other.peek('other')).limit === limit);
    await other.consume('ann');
  };
}

describe('a decision during which the policy changes again and again', () => {
  it('is renewed as often as that, and made by Redis', async () => {
    const here = policies();
    await here.put('orders', limitOf(100), { apps });
    const change = changing(here);
    const client = slowClient();
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }), onStoreError: 'local' });
    await orders.consume('ann');
    let left = 5;
    client.before = async () => {
      if (left > 0) await change();
      left--;
    };

    const decision = await orders.consume('ann');

    expect(decision).toMatchObject({ outcome: 'allowed', source: 'redis', limit: 105, remaining: 105 - 1 - 5 - 1 });
    expect(client.decisions).toBe(1 + 6);
  });

  it('of a key that is used up is never allowed by this process, which has counted nothing of it', async () => {
    const here = policies();
    await here.put('orders', limitOf(100), { apps });
    const change = changing(here);
    const client = slowClient();
    const orders = limiter({
      policy,
      store: redisStore(client, { prefix: 'sluice' }),
      onStoreError: 'local',
      denialCache: false,
    });
    await orders.consume('ann', 90);
    client.before = async () => {
      if (client.decisions % 3 !== 0) await change();
    };

    const decisions = [];
    for (let i = 0; i < 10; i++) decisions.push(await orders.consume('ann', 90));

    expect(decisions.map(({ allowed, source }) => `${String(allowed)} ${source}`)).toEqual(
      Array(10).fill('false redis'),
    );
  });

  it.each([
    ['deny', false],
    ['local', true],
  ] as readonly (readonly [OnStoreError, boolean])[])(
    'without an end takes no longer than timeoutMs, and then %s decides',
    async (onStoreError, allowed) => {
      const here = policies();
      await here.put('orders', limitOf(100), { apps });
      const change = changing(here);
      const client = slowClient();
      const orders = limiter({
        policy,
        store: redisStore(client, { prefix: 'sluice' }),
        onStoreError,
        timeoutMs: 1000,
      });
      await orders.consume('ann');
      let last = Promise.resolve();
      client.before = () => (last = change());

      const startMs = performance.now();
      const decision = await orders.consume('ann');
      const tookMs = performance.now() - startMs;
      await last;

      expect(decision.allowed).toBe(allowed);
      expect(decision.source).not.toBe('redis');
      expect(client.decisions).toBeGreaterThan(2);
      expect(tookMs).toBeLessThan(10_000);
    },
  );

  it('and that the source does not return takes no longer than timeoutMs in all', async () => {
    const timeoutMs = 2000;
    const here = policies();
    await here.put('orders', limitOf(100), { apps });
    const change = changing(here);
    let isHeld = false;
    const source: PolicySource = {
      load: async () => (isHeld ? new Promise<never>(() => undefined) : recordsIn(redis.admin)),
    };
    const client = slowClient();
    const orders = keep(
      createLimiter({
        policy,
        app: 'checkout',
        policies: policies(source),
        store: redisStore(client, { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs,
      }),
    );
    await orders.consume('ann');
    isHeld = true;
    const startMs = performance.now();
    client.before = async () => {
      await change();
      await until('much of the time has passed', () => performance.now() - startMs > 0.75 * timeoutMs);
    };

    await expect(orders.consume('ann')).rejects.toMatchObject({ code: 'SLUICE_STORE_TIMEOUT' });

    // What each step may take by itself would be three quarters more.
    expect(performance.now() - startMs).toBeLessThan(1.5 * timeoutMs);
  });
});

describe('an edit during which the policy changes again and again', () => {
  it.each([
    ['reset', (orders: Limiter) => orders.reset('ann'), 0],
    ['block', (orders: Limiter) => orders.block('ann', '1h'), undefined],
    ['refund', (orders: Limiter, decision: Decision) => orders.refund(decision, 4), 6 - 4 + 5],
  ] as const)('%s: is done by the policy as it is then', async (_what, edit, used) => {
    const here = policies();
    await here.put('orders', limitOf(100), { apps });
    const change = changing(here);
    const client = slowClient();
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });
    const decision = await orders.consume('ann', 6);
    let left = 5;
    client.before = async () => {
      if (left > 0) await change();
      left--;
    };

    await edit(orders, decision);

    const after = await limiter({ policy }).peek('ann');
    expect(after).toMatchObject(used === undefined ? { outcome: 'blocked' } : { limit: 105, remaining: 105 - used });
  });
});

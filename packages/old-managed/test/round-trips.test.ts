import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, slidingWindow } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { countedClient } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, keep } = useManaged();

const ten = fixedWindow({ limit: 1000, window: '1h' });
const apps = ['checkout'];
const policy = managed('orders');
const keys = Array.from({ length: 50 }, (_, i) => `client-${String(i)}`);

/** How often the server has run each command since its statistics were reset. */
async function calls(): Promise<Record<string, number>> {
  const stats = await redis.admin.info('commandstats');
  return Object.fromEntries(
    [...stats.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)].map(([, name = '', count]) => [name, Number(count)]),
  );
}

describe('a managed policy', () => {
  it('costs a decision exactly one call, whatever the request', async () => {
    await policies().put('orders', ten, { apps });
    const client = countedClient(redis.admin);
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });
    const decision = await orders.consume('ann');
    const asked: (() => Promise<unknown>)[] = [
      ...keys.map((key) => () => orders.consume(key)),
      () => orders.peek('ann'),
      () => orders.refund(decision),
      () => orders.block('bob', '1h'),
      () => orders.consume('bob'),
      () => orders.unblock('bob'),
      () => orders.reset('ann'),
    ];
    const before = client.decisions.length;

    for (const ask of asked) await ask();

    expect(client.decisions.length - before).toBe(asked.length);
    expect(client.decisions.every(({ length }) => length === 1)).toBe(true);
  });

  it('costs the server one script, one GET and one SET for a decision, and its definition is not read for it', async () => {
    await policies().put('orders', ten, { apps });
    const orders = limiter({ policy });
    await orders.consume('ann');
    await redis.admin.config('RESETSTAT');
    const startMs = performance.now();

    for (let i = 0; i < 200; i++) await orders.consume('ann');

    const { evalsha = 0, get = 0, set = 0, hget = 0, hgetall = 0, zrevrangebyscore = 0 } = await calls();
    // Besides these calls the policies are polled twice a second, and the overrides.
    const polls = Math.ceil((performance.now() - startMs) / 500) + 1;
    expect([get, set, hgetall]).toEqual([200, 200, 0]);
    expect(hget).toBeLessThanOrEqual(polls);
    expect(zrevrangebyscore).toBeLessThanOrEqual(polls);
    expect(evalsha).toBe(200 + hget + zrevrangebyscore);
  });

  it('costs no decision a call more when it has changed, once that is known: the script brings each key over', async () => {
    const here = policies();
    await here.put('orders', ten, { apps });
    const client = countedClient(redis.admin);
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });
    for (const key of keys) await orders.consume(key);
    await here.put('orders', slidingWindow({ limit: 2000, window: '1h' }), { apps });
    client.notify();
    await until('the change is known', async () => (await orders.peek('other')).limit === 2000);
    const before = client.decisions.length;

    const decisions = [];
    for (const key of keys) decisions.push(await orders.consume(key));

    expect(client.decisions.length - before).toBe(keys.length);
    expect(new Set(decisions.map(({ remaining }) => remaining))).toEqual(new Set([1998]));
  });

  it('costs the first decision of a key one call more after an override, which then costs nothing', async () => {
    const here = policies();
    await here.put('orders', ten, { apps });
    const client = countedClient(redis.admin);
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });
    await orders.consume('ann', 400);
    await here.override('orders', 'ann', fixedWindow({ limit: 2000, window: '1h' }));
    client.notify();
    await until('the override is known', async () => (await orders.peek('ann')).limit === 2000);
    const before = client.decisions.length;

    const remaining = [];
    for (let i = 0; i < 3; i++) remaining.push((await orders.consume('ann')).remaining);

    expect(remaining).toEqual([1599, 1598, 1597]);
    expect(client.decisions.length - before).toBe(4);
  });

  it('is the same call for an entry of limits, beside others', async () => {
    await policies().put('orders', ten, { apps });
    const client = countedClient(redis.admin);
    const both = keep(
      createLimiter({
        limits: [
          { name: 'plain', policy: ten },
          { name: 'kept', policy },
        ],
        app: 'checkout',
        store: redisStore(client, { prefix: 'sluice' }),
        timeoutMs: 10_000,
      }),
    );
    await both.consume({ plain: 'ann', kept: 'bob' });
    const before = client.decisions.length;

    await both.consume({ plain: 'ann', kept: 'bob' });

    expect(client.decisions.slice(before)).toEqual([['sluice:{ann}:default:2f.plain', 'sluice:{bob}:orders:2m']]);
  });

  it('is loaded once by a hundred first requests at the same time', async () => {
    await policies().put('orders', ten, { apps });
    const store = redisStore(countedClient(redis.admin), { prefix: 'sluice' });
    const orders = limiter({ policy, store });
    await redis.admin.config('RESETSTAT');

    const decisions = await Promise.all(Array.from({ length: 100 }, () => orders.consume('ann')));

    const { hgetall = 0 } = await calls();
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    expect(hgetall).toBe(1);
  });

  it('is neither polled nor subscribed to when no limiter uses it any more', async () => {
    await policies().put('orders', ten, { apps });
    const [client, other] = [countedClient(redis.admin), countedClient(redis.admin)];
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });
    const hearing = limiter({ policy });
    await Promise.all([orders.consume('ann'), hearing.consume('ann')]);
    await until('it is polled while it is used', () => client.asked > 4);
    await until(
      'there is a subscription',
      async () => (await redis.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')) !== '',
    );

    await Promise.all([orders.close(), hearing.close()]);
    const asked = client.asked;
    limiter({ policy, store: redisStore(other, { prefix: 'sluice' }) });
    await until('another limiter polls', () => other.asked > 4);

    expect(client.asked).toBe(asked);
    await until(
      'there is no subscription',
      async () => (await redis.admin.call('CLIENT', 'LIST', 'TYPE', 'pubsub')) === '',
    );
  });
});

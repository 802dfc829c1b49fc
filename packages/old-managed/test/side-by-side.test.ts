import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type SingleLimiterOptions } from '@sluice/old-core';
import { managed, type PolicySource } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { countedClient } from './counted-client.ts';
import { delayedSource, recordsIn } from './delayed-source.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, keep } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const twenty = fixedWindow({ limit: 20, window: '1h' });
const apps = ['checkout'];
const policy = managed('orders');
const KEY = 'sluice:{ann}:orders:2m';

/** A source that goes on saying what it said at first. */
async function deafSource(): Promise<PolicySource> {
  const records = await recordsIn(redis.admin);
  return { load: () => Promise.resolve(records) };
}

describe('a process that does not know a change yet', () => {
  it('decides by what it knows, on keys that no other process has used since', async () => {
    await policies().put('orders', ten, { apps });
    const old = limiter({ policy, policies: policies(await deafSource()) });
    await policies().put('orders', twenty, { apps });

    expect(await old.consume('ann')).toMatchObject({ allowed: true, limit: 10, remaining: 9 });
  });

  it('finds the change on a key that another process has used: it consumes nothing, loads the change, and repeats the request', async () => {
    await policies().put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const client = countedClient(redis.admin);
    const old = limiter({ policy, policies: policies(source), store: redisStore(client, { prefix: 'sluice' }) });
    await old.consume('ann', 3);
    await source.hold();
    await policies().put('orders', twenty, { apps });
    expect((await limiter({ policy }).consume('ann')).remaining).toBe(16);
    const before = await redis.admin.dumpBuffer(KEY);

    const deciding = old.consume('ann', 2);
    await until('it has asked', () => client.decisions.length === 2);
    const meanwhile = await redis.admin.dumpBuffer(KEY);
    source.release();

    expect(await deciding).toMatchObject({ allowed: true, limit: 20, remaining: 14, source: 'redis' });
    expect(meanwhile).toEqual(before);
    expect(client.decisions).toHaveLength(3);
    await old.consume('ann');
    expect(client.decisions).toHaveLength(4);
  });

  it('needs one more round trip for a change, not one for each key', async () => {
    const keys = Array.from({ length: 20 }, (_, i) => `client-${String(i)}`);
    await policies().put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const client = countedClient(redis.admin);
    const old = limiter({ policy, policies: policies(source), store: redisStore(client, { prefix: 'sluice' }) });
    for (const key of keys) await old.consume(key);
    await source.hold();
    await policies().put('orders', twenty, { apps });
    const other = limiter({ policy });
    for (const key of keys) await other.consume(key);
    const before = client.decisions.length;

    source.release();
    for (const key of keys) expect(await old.consume(key)).toMatchObject({ limit: 20, remaining: 17 });

    expect(client.decisions.length - before).toBeLessThanOrEqual(keys.length + 1);
  });

  it('finds a removal the same way, when the policy was put again and removed again since', async () => {
    await policies().put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const old = limiter({ policy, policies: policies(source) });
    await old.consume('ann');
    await source.hold();
    await policies().put('orders', twenty, { apps });
    await limiter({ policy }).consume('ann');
    await policies().remove('orders');
    const before = await redis.admin.dumpBuffer(KEY);

    const deciding = old.consume('ann');
    source.release();

    expect(await deciding).toMatchObject({ allowed: false, outcome: 'unconfigured', policy: 'orders' });
    expect(await redis.admin.dumpBuffer(KEY)).toEqual(before);
  });

  it('consumes from none of several limits if one is stale, and then from all', async () => {
    await policies().put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const both = keep(
      createLimiter({
        limits: [
          { name: 'plain', policy: ten },
          { name: 'kept', policy },
        ],
        app: 'checkout',
        policies: policies(source),
        store: redisStore(countedClient(redis.admin), { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs: 10_000,
      }),
    );
    const keys = { plain: 'ann', kept: 'ann' };
    await both.consume(keys);
    await source.hold();
    await policies().put('orders', twenty, { apps });
    await limiter({ policy }).consume('ann');

    const deciding = both.consume(keys, 2);
    source.release();

    expect((await deciding).policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['plain', 7],
      ['kept', 16],
    ]);
  });
});

describe('a process that cannot load a change', () => {
  const stale = async (options: Pick<SingleLimiterOptions, 'onStoreError'>) => {
    await policies().put('orders', ten, { apps });
    const old = limiter({ policy, policies: policies(await deafSource()), timeoutMs: 1000, ...options });
    await policies().put('orders', twenty, { apps });
    await limiter({ policy }).consume('ann');
    return old;
  };

  it('throw: rejects, and consumes nothing', async () => {
    const old = await stale({ onStoreError: 'throw' });
    const before = await redis.admin.dumpBuffer(KEY);

    for (const asking of [old.consume('ann'), old.peek('ann'), old.reset('ann'), old.block('ann', '1h')]) {
      await expect(asking).rejects.toMatchObject({ name: 'StoreError', code: 'SLUICE_POLICY_STALE' });
    }

    expect(await redis.admin.dumpBuffer(KEY)).toEqual(before);
    expect((await old.consume('bob')).limit).toBe(10);
  });

  it.each([
    ['allow', { allowed: true, outcome: 'unavailable', source: 'none' }],
    ['deny', { allowed: false, outcome: 'unavailable', source: 'none' }],
    ['local', { allowed: true, outcome: 'allowed', source: 'local', limit: 10, remaining: 9 }],
  ] as const)('%s: as where the store has failed', async (onStoreError, expected) => {
    const old = await stale({ onStoreError });
    const before = await redis.admin.dumpBuffer(KEY);

    expect(await old.consume('ann')).toMatchObject(expected);
    expect(await redis.admin.dumpBuffer(KEY)).toEqual(before);
  });

  it('does not open the breaker of its store: other keys are still decided by Redis', async () => {
    const old = await stale({ onStoreError: 'deny' });

    for (let i = 0; i < 20; i++) await old.consume('ann');

    expect(await old.consume('bob')).toMatchObject({ allowed: true, source: 'redis' });
    expect(old.status().breaker).toBe('closed');
  });

  it('because its source hangs: waits no longer than timeoutMs', async () => {
    await policies().put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const old = limiter({ policy, policies: policies(source), onStoreError: 'deny', timeoutMs: 200 });
    await old.consume('ann');
    await source.hold();
    await policies().put('orders', twenty, { apps });
    await limiter({ policy }).consume('ann');

    expect(await old.consume('ann')).toMatchObject({ allowed: false, outcome: 'unavailable' });
    source.release();
    await until('it has heard', async () => (await old.consume('ann')).limit === 20);
  });
});

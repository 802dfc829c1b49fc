import { describe, expect, it } from '@jest/globals';
import { until, useClosing } from '@sluice/testkit';
import { createLimiter, redisStore, type Limiter } from '../../src/index.ts';
import { createPolicies, managed } from '../../src/managed/index.ts';
import { ten, twenty, useWorld } from './use-policies.ts';

const { redis, process } = useWorld();

const closeLater = useClosing();

/** A limiter of one process more. */
function limiter(options: object = {}): Limiter {
  const made: Limiter = createLimiter({
    policy: managed('orders'),
    store: redisStore(process().connection, { prefix: 'sluice' }),
    onStoreError: 'throw',
    timeoutMs: 10_000,
    ...options,
  } as never);
  return closeLater(made);
}

describe('limiters with a managed policy', () => {
  it('use the policies of their store, which createPolicies(store) changes', async () => {
    const store = redisStore(process().connection, { prefix: 'sluice' });
    const policies = createPolicies(store);
    await policies.put('orders', ten);
    const orders = limiter({ store });
    expect((await orders.consume('ann')).limit).toBe(10);

    await policies.put('orders', twenty);

    expect(await orders.consume('ann')).toMatchObject({ limit: 20, remaining: 18 });
  });

  it('make no call more for a policy and its overrides', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', twenty);
    const orders = limiter();
    await orders.consume('bob');
    await redis.admin.config('RESETSTAT');

    expect((await orders.consume('ann')).limit).toBe(20);
    expect((await orders.consume('bob')).remaining).toBe(8);

    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.admin.info('commandstats')) ?? [];
    expect(Number(calls)).toBe(2);
  });

  it('start afresh at once in every process after a reset, and refund what was taken before nowhere', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    const [one, other] = [limiter(), limiter()];
    const before = await one.consume('ann', 10);

    await policies.put('orders', ten, { reset: true });

    await until('both know', async () => (await one.peek('ann')).used + (await other.peek('ann')).used === 0);
    await one.consume('ann', 4);
    await one.refund(before);
    expect((await other.peek('ann')).used).toBe(4);
    await policies.put('orders', twenty);
    await until('it is known', async () => (await other.peek('ann')).limit === 20);
    expect((await other.peek('ann')).used).toBe(4);
  });

  it('close what they opened: the subscription ends with the last of them', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    const store = redisStore(process().connection, { prefix: 'sluice' });
    const [one, other] = [limiter({ name: 'a', store }), limiter({ name: 'b', store })];
    await Promise.all([one.consume('ann'), other.consume('ann')]);
    const listeners = async (): Promise<unknown> => (await redis.admin.pubsub('NUMSUB', 'sluice:policies'))[1];
    await until('they listen', async () => (await listeners()) === 1);

    await one.close();
    await policies.put('orders', twenty);
    await until('it follows', async () => (await other.peek('ann')).limit === 20);
    await other.close();

    await until('nothing listens', async () => (await listeners()) === 0);
  });
});

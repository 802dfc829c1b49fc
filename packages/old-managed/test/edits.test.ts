import { describe, expect, it } from '@jest/globals';
import { fixedWindow, slidingWindow, tokenBucket, type Decision, type Limiter, type Policy } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { delayedSource } from './delayed-source.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const apps = ['checkout'];
const policy = managed('orders');

const KINDS: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', ten],
  ['slidingWindow', slidingWindow({ limit: 10, window: '1h' })],
  ['tokenBucket', tokenBucket({ capacity: 10, refill: 1, every: '1h' })],
  ['tokenBucket in intervals', tokenBucket({ capacity: 10, refill: 1, every: '1h', mode: 'interval' })],
];

/** Waits until a limiter has heard of the policy as it is now. */
const heard = async (orders: Limiter, limit: number): Promise<unknown> =>
  until('the change is known', async () => (await orders.peek('other')).limit === limit);

const remainingOf = async (orders: Limiter, key: string): Promise<number> => (await orders.peek(key)).remaining;

describe.each(KINDS)('a managed %s', (_name, kind) => {
  it('is peeked at, refunded, reset, blocked and unblocked like any other', async () => {
    await policies().put('orders', kind, { apps });
    const orders = limiter({ policy });
    const decision = await orders.consume('ann', 6);
    await orders.consume('bob', 6);

    await orders.refund(decision, 4);
    await orders.reset('bob');
    await orders.block('carl', '1h');
    const blocked = await orders.consume('carl');
    await orders.unblock('carl');

    expect(await remainingOf(orders, 'ann')).toBe(8);
    expect(await remainingOf(orders, 'bob')).toBe(10);
    expect(blocked).toMatchObject({ allowed: false, outcome: 'blocked', policy: 'orders' });
    expect((await orders.consume('carl')).allowed).toBe(true);
  });

  it('refunds what was consumed before its limit changed', async () => {
    const here = policies();
    await here.put('orders', kind, { apps });
    const orders = limiter({ policy });
    const decision = await orders.consume('ann', 6);
    await here.put('orders', 'limit' in kind ? { ...kind, limit: 20 } : { ...kind, capacity: 20 }, { apps });
    await heard(orders, 20);

    await orders.refund(decision, 4);

    expect(await remainingOf(orders, 'ann')).toBe(18);
  });

  it('refunds it once: not again after the change', async () => {
    const here = policies();
    await here.put('orders', kind, { apps });
    const orders = limiter({ policy });
    const decision = await orders.consume('ann', 6);
    await orders.refund(decision, 4);
    await here.put('orders', 'limit' in kind ? { ...kind, limit: 20 } : { ...kind, capacity: 20 }, { apps });
    await heard(orders, 20);

    await orders.refund(decision, 4);

    expect(await remainingOf(orders, 'ann')).toBe(18);
  });

  it('keeps its blocks when it becomes one of another kind, and through a removal', async () => {
    const here = policies();
    await here.put('orders', kind, { apps });
    const orders = limiter({ policy });
    await orders.consume('ann', 6);
    await orders.block('ann', '1h');
    await orders.block('never-seen', '1h');
    const other = kind.algorithm === 'slidingWindow' ? ten : slidingWindow({ limit: 20, window: '2h' });

    await here.put('orders', other, { apps });
    await heard(orders, 'limit' in other ? other.limit : 0);
    const afterChange = [await orders.consume('ann'), await orders.consume('never-seen')];
    await here.remove('orders');
    await until('the removal is known', async () => (await orders.peek('ann')).outcome === 'unconfigured');
    await here.put('orders', tokenBucket({ capacity: 30, refill: 1, every: '1h' }), { apps });
    await heard(orders, 30);
    const afterRemoval = [await orders.consume('ann'), await orders.peek('never-seen')];

    for (const decision of [...afterChange, ...afterRemoval]) {
      expect(decision).toMatchObject({ allowed: false, outcome: 'blocked' });
    }
    await orders.unblock('ann');
    expect(await remainingOf(orders, 'ann')).toBe(24);
  });
});

describe('a peek', () => {
  it('shows what a change makes of a key, and writes nothing', async () => {
    const here = policies();
    await here.put('orders', ten, { apps });
    const orders = limiter({ policy });
    await orders.consume('ann', 6);
    await here.put('orders', tokenBucket({ capacity: 20, refill: 1, every: '1h' }), { apps });
    await heard(orders, 20);
    const before = await redis.admin.dumpBuffer('sluice:{ann}:orders:2m');

    const peeked = await orders.peek('ann', 14);

    expect(peeked).toMatchObject({ allowed: true, limit: 20, remaining: 14 });
    expect(await redis.admin.dumpBuffer('sluice:{ann}:orders:2m')).toEqual(before);
    expect(await orders.consume('ann', 14)).toMatchObject({ allowed: true, remaining: 0 });
  });
});

describe('a process that has not heard of a change', () => {
  it.each([
    ['reset', (orders: Limiter) => orders.reset('ann'), 20],
    ['block', (orders: Limiter) => orders.block('ann', '1h'), 0],
    ['unblock', (orders: Limiter) => orders.unblock('ann'), 14],
    ['refund', (orders: Limiter, decision: Decision) => orders.refund(decision, 4), 18],
  ])('%s: finds the change, and edits by the current policy', async (_name, edit, remaining) => {
    const here = policies();
    await here.put('orders', ten, { apps });
    const source = delayedSource(redis.admin);
    const orders = limiter({ policy, policies: policies(source) });
    const decision = await orders.consume('ann', 6);
    await source.hold();
    await here.put('orders', fixedWindow({ limit: 20, window: '1h' }), { apps });
    const hearing = limiter({ policy });
    await hearing.refund(await hearing.consume('ann')); // its state is one of the new version now

    const edited = edit(orders, decision);
    source.release();
    await edited;

    expect(await remainingOf(hearing, 'ann')).toBe(remaining);
  });
});

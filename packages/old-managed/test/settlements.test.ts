import { describe, expect, it } from '@jest/globals';
import { fixedWindow, tokenBucket, type CarryOver, type Policy } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter } = useManaged();

const apps = ['checkout'];
const policy = managed('orders');

describe.each<[string, (units: number) => Policy]>([
  ['fixedWindow', (limit) => fixedWindow({ limit, window: '1h' })],
  ['tokenBucket', (capacity) => tokenBucket({ capacity, refill: 1, every: '1d' })],
])('a reservation under a managed %s that changes before it is settled', (_kind, of) => {
  it.each<[CarryOver, number, number]>([
    ['keep', 9, 20 - 9],
    ['keep', 1, 20 - 1],
    // What was used before is forgotten, and so is what turns out to have been used.
    ['reset', 9, 20],
    ['reset', 1, 20],
  ])('with %s is settled at %p under the new one', async (carryOver, actual, remaining) => {
    const here = policies();
    await here.put('orders', of(10), { apps });
    const orders = limiter({ policy });
    const { settle } = await orders.reserve('ann', 4);
    await here.put('orders', of(20), { apps, carryOver });
    const hearing = limiter({ policy });
    await until('the change is known', async () => (await hearing.peek('other')).limit === 20);
    await hearing.consume('ann', 1).then((decision) => hearing.refund(decision)); // its state is of the new version

    await settle(actual);

    expect((await hearing.peek('ann', 0)).remaining).toBe(remaining);
  });
});

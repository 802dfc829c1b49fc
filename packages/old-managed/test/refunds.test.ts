import { describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type CarryOver,
  type Limiter,
  type Policy,
  type RedisStore,
} from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter } = useManaged();

const apps = ['checkout'];
const policy = managed('orders');

const KINDS: readonly (readonly [string, (limit: number) => Policy])[] = [
  ['fixedWindow', (limit) => fixedWindow({ limit, window: '1h' })],
  ['slidingWindow', (limit) => slidingWindow({ limit, window: '1h' })],
  ['tokenBucket', (capacity) => tokenBucket({ capacity, refill: 1, every: '1h' })],
];

/** A place for policies in memory: what is put is known in this process at once. */
function inMemory(): Policies {
  let records: Readonly<Record<string, unknown>> = {};
  const write = (name: string, record: unknown): Promise<boolean> => {
    records = { ...records, [name]: record };
    return Promise.resolve(true);
  };
  const source: PolicySource = { load: () => Promise.resolve(records), put: write, remove: write };
  return createPolicies(source);
}

/** With a Redis that cannot be reached: the fallback decides. */
function awayStore(): RedisStore {
  const fail = (): Promise<never> => Promise.reject(new Error('connect ECONNREFUSED'));
  return redisStore({ evalsha: fail, eval: fail }, { prefix: 'sluice' });
}

const remainingOf = async (orders: Limiter): Promise<number> => (await orders.peek('ann')).remaining;
const known = async (orders: Limiter, limit: number): Promise<unknown> =>
  until('the change is known', async () => (await orders.peek('other')).limit === limit);

describe.each(KINDS)('units of a %s that are refunded after it changed', (_kind, of) => {
  describe.each([
    ['Redis', false],
    ['this process, in its place,', true],
  ])('%s having counted them', (_where, isLocal) => {
    /** 50 of 100 were used, the policy changed to 60 of them, and one more was used. */
    async function changed(
      carryOvers: readonly CarryOver[],
      limits: readonly number[] = [60],
    ): Promise<{ orders: Limiter; giveBack: () => Promise<void> }> {
      const here = isLocal ? inMemory() : policies();
      await here.put('orders', of(100), { apps });
      const orders = isLocal
        ? limiter({ policy, policies: here, store: awayStore(), onStoreError: 'local' })
        : limiter({ policy });
      const decision = await orders.consume('ann', 50);
      expect(decision.source).toBe(isLocal ? 'local' : 'redis');
      for (const [i, carryOver] of carryOvers.entries()) {
        const limit = limits[i] as number;
        await here.put('orders', of(limit), { apps, carryOver });
        await known(orders, limit);
      }
      await orders.consume('ann');
      return { orders, giveBack: () => orders.refund(decision) };
    }

    it('keep: are refunded to the new budget', async () => {
      const { orders, giveBack } = await changed(['keep']);
      expect(await remainingOf(orders)).toBe(9);

      await giveBack();

      expect(await remainingOf(orders)).toBe(59);
    });

    it('keep: are refunded once', async () => {
      const { orders, giveBack } = await changed(['keep']);

      await giveBack();
      await giveBack();

      expect(await remainingOf(orders)).toBe(59);
    });

    it('reset: do not count in the new budget', async () => {
      const { orders, giveBack } = await changed(['reset']);
      await orders.consume('ann', 29);

      await giveBack();

      expect(await remainingOf(orders)).toBe(30);
    });

    it.each([
      ['before', ['reset', 'keep']],
      ['after', ['keep', 'reset']],
    ] as readonly (readonly [string, readonly CarryOver[]])[])(
      'reset, %s another change: are nothing to it either',
      async (_when, carryOvers) => {
        const { orders, giveBack } = await changed(carryOvers, [60, 70]);
        const before = await remainingOf(orders);
        await orders.consume('ann', 9);

        await giveBack();

        expect(before).toBe(69);
        expect(await remainingOf(orders)).toBe(60);
      },
    );
  });
});

describe('units that are refunded through a limiter that has not been used since the policy changed', () => {
  // Not for windows: after a reset a window has nothing to refund.
  const bucket = (capacity: number): Policy => tokenBucket({ capacity, refill: 1, every: '1h' });

  it.each([
    ['keep: are refunded to the new budget', 'keep', 1, 59],
    ['reset: are nothing to it', 'reset', 30, 30],
  ] as const)('%s, while another one counts on in this process', async (_what, carryOver, used, left) => {
    const here = inMemory();
    await here.put('orders', bucket(100), { apps });
    const options = { policy, policies: here, store: awayStore(), onStoreError: 'local' } as const;
    const [orders, other] = [limiter({ ...options, name: 'orders' }), limiter({ ...options, name: 'other' })];
    const decision = await orders.consume('ann', 50);
    await here.put('orders', bucket(60), { apps, carryOver });
    await known(other, 60);
    await other.consume('ann', used);

    await orders.refund(decision);

    expect(await remainingOf(other)).toBe(left);
  });
});

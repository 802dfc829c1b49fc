import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, silenceWarnings, type Limiter, type Policy } from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicyRecord, type PolicySource } from '@sluice/old-managed';
import { fixedMembership, splitStore } from '@sluice/old-split';
import { until } from '@sluice/testkit';

silenceWarnings('SLUICE_POLICY_UNCONFIGURED');
const apps = ['gateway'];
const perDay = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1d', align: 'clock' });

/** A source in memory, which sends no notifications: changes are found by polling. */
class Records implements PolicySource {
  #records: Readonly<Record<string, PolicyRecord>> = {};

  load(): Promise<Readonly<Record<string, unknown>>> {
    return Promise.resolve(this.#records);
  }

  put(name: string, record: PolicyRecord): Promise<boolean> {
    this.#records = { ...this.#records, [name]: record };
    return Promise.resolve(true);
  }

  remove(name: string, tombstone: PolicyRecord): Promise<boolean> {
    return this.put(name, tombstone);
  }
}

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** Two gateways that share a managed limit, which an operator has put. */
async function gateways(
  policy: Policy,
): Promise<{ readonly operator: Policies; readonly limiters: readonly Limiter[] }> {
  const source = new Records();
  const operator = createPolicies(source);
  await operator.put('orders', policy, { apps });
  const limiters = [0, 1].map((index) =>
    createLimiter({
      name: `gateway-${String(index)}`,
      policy: managed('orders'),
      app: 'gateway',
      policies: createPolicies(source),
      store: splitStore({ membership: fixedMembership({ instances: 2, index }) }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    }),
  );
  open.push(...limiters, operator);
  return { operator, limiters };
}

async function allowedBy(limiter: Limiter, key: string): Promise<number> {
  let allowed = 0;
  while ((await limiter.consume(key)).allowed) allowed++;
  return allowed;
}

describe('a managed policy on a split store', () => {
  it('is split, and each instance follows its changes', async () => {
    const { operator, limiters } = await gateways(perDay(10));
    const before = [];
    for (const limiter of limiters) before.push(await allowedBy(limiter, 'ann'));
    await operator.put('orders', perDay(40), { apps });
    for (const limiter of limiters) {
      await until('it has heard of the change', async () => (await limiter.peek('bob')).limit === 40);
    }
    const after = [];
    for (const limiter of limiters) after.push(await allowedBy(limiter, 'bob'));

    expect({ before, after }).toEqual({ before: [5, 5], after: [20, 20] });
  });

  it('is unconfigured while its policy cannot be split', async () => {
    const { operator, limiters } = await gateways(fixedWindow({ limit: 10, window: '1d' }));
    const [limiter] = limiters as [Limiter];

    expect(await limiter.consume('ann')).toMatchObject({ outcome: 'unconfigured', allowed: false });
    await operator.put('orders', perDay(10), { apps });
    await until('it is allowed', async () => (await limiter.consume('ann')).outcome === 'allowed');
  });

  it('gives back units of a decision from before a change', async () => {
    const { operator, limiters } = await gateways(perDay(20));
    const [limiter] = limiters as [Limiter];
    const decision = await limiter.consume('ann', 4);
    await operator.put('orders', perDay(10), { apps });
    await until('it has heard of the change', async () => (await limiter.peek('ann')).limit === 10);
    const before = await limiter.peek('ann');
    await limiter.refund(decision);

    expect([before.remaining, (await limiter.peek('ann')).remaining]).toEqual([1, 5]);
  });
});

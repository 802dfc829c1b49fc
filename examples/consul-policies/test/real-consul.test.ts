import { createLimiter, fixedWindow, memoryStore, silenceWarnings } from '@sluice/express';
import { createPolicies, managed, type Policies } from '@sluice/core/managed';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CONSUL_MANAGEMENT, consulAgents, until, type ConsulAgentUnderTest } from '@sluice/testkit';
import { consulSource } from '../src/consul-source.ts';

silenceWarnings('SLUICE_POLICY_UNCONFIGURED', 'SLUICE_POLICIES_LOST');
const apps = ['shop'];
const perHour = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

let agent: ConsulAgentUnderTest;
const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await agent.close();
});

function policiesOf(token?: string): Policies {
  const policies = createPolicies(consulSource({ address: agent.address, ...(token !== undefined && { token }) }));
  open.push(policies);
  return policies;
}

describe.each(consulAgents())('a policy in %s', (_name, start) => {
  beforeEach(async () => {
    agent = await start();
  });

  it('is put, changed, and removed, and each limiter follows it', async () => {
    const operator = policiesOf();
    const limiter = createLimiter({
      ...{ name: 'shop', policy: managed('orders'), app: 'shop', policies: policiesOf(), store: memoryStore() },
      timeoutMs: 60_000,
    });
    open.push(limiter);
    const limitIs = (limit: number): Promise<unknown> =>
      until(`it is ${String(limit)}`, async () => (await limiter.peek('ann')).limit === limit);
    const changes = [
      await operator.put('orders', perHour(10), { apps }),
      await operator.put('orders', perHour(10), { apps }),
    ];
    await limitIs(10);
    await limiter.consume('ann', 4);
    changes.push(await operator.put('orders', perHour(20), { apps }));
    await limitIs(20);
    const { remaining } = await limiter.peek('ann');
    await operator.remove('orders');

    await until('it is gone', async () => (await limiter.peek('ann')).outcome === 'unconfigured');
    expect(changes.map(({ change }) => change)).toEqual(['created', 'unchanged', 'changed']);
    expect(remaining).toBe(16);
  });

  it('is written by many at once, and none of them is lost', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `limit-${String(i)}`);
    await Promise.all(names.map((name, i) => policiesOf().put(name, perHour(i + 1), { apps })));
    await Promise.all(names.map(() => policiesOf().put('shared', perHour(7), { apps })));

    expect((await policiesOf().list()).map(({ name }) => name)).toEqual([...names, 'shared']);
  });

  it('is overridden for single keys, whatever characters they have', async () => {
    const keys = ['ann', 'org/7', 'a b?c=d&e#f', '50%', '%2F', 'é/日本', '../orders', 'x:y:z'];
    const operator = policiesOf();
    await operator.put('orders', perHour(10), { apps });
    for (const [i, key] of keys.entries()) await operator.override('orders', key, perHour(100 + i));
    await operator.override('orders', { prefix: 'team/' }, perHour(50), { by: 'eve', reason: 'a sale' });
    await operator.removeOverride('orders', 'ann', { by: 'eve', reason: 'it has ended' });
    const limiter = createLimiter({
      ...{ name: 'shop', policy: managed('orders'), app: 'shop', policies: policiesOf(), store: memoryStore() },
      timeoutMs: 60_000,
    });
    open.push(limiter);

    const limits = [];
    for (const key of [...keys, 'team/7', 'bob']) limits.push((await limiter.peek(key)).limit);
    const byPrefix = (await policiesOf().overrides('orders')).find(({ target }) => typeof target === 'object');

    expect(limits).toEqual([10, ...keys.slice(1).map((_, i) => 101 + i), 50, 10]);
    expect(byPrefix).toMatchObject({ target: { prefix: 'team/' }, by: 'eve', reason: 'a sale' });
  });

  it('stays in force when its key is deleted by hand', async () => {
    const [operator, reader] = [policiesOf(), policiesOf()];
    await operator.put('orders', perHour(10), { apps });
    const limiter = createLimiter({
      ...{ name: 'shop', policy: managed('orders'), app: 'shop', policies: reader, store: memoryStore() },
      timeoutMs: 60_000,
    });
    open.push(limiter);
    await until('it is there', async () => (await limiter.peek('ann')).limit === 10);
    await fetch(`${agent.address}/v1/kv/sluice/policies/orders`, { method: 'DELETE' });

    expect(await policiesOf().get('orders')).toBeUndefined();
    expect((await limiter.peek('ann')).limit).toBe(10);
  });
});

describe.each(consulAgents({ acl: true }))('a token in %s', (_name, start) => {
  beforeEach(async () => {
    agent = await start();
  });

  it('without rights is an error, and not a folder without policies', async () => {
    await policiesOf(CONSUL_MANAGEMENT).put('orders', perHour(10), { apps });
    const weak = policiesOf(await agent.weakToken());

    await expect(weak.get('orders')).rejects.toThrow('the token may not read these keys');
    expect(await policiesOf(CONSUL_MANAGEMENT).get('orders')).toBeDefined();
  });
});

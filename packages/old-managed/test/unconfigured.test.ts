import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, keep, connect, warnings } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });

/** The keys of clients. */
const states = async (): Promise<string[]> => (await redis.admin.keys('sluice:{*')).sort();

const unconfigured = { allowed: false, outcome: 'unconfigured', source: 'none', limit: 0, remaining: 0, policies: [] };

describe('a policy that may not be used', () => {
  it('because there is none: the decision reports it, consumes nothing, and a warning names policy and application once', async () => {
    const orders = limiter({ policy: managed('never-put') });

    const decisions = [await orders.consume('ann', 3), await orders.consume('bob'), await orders.peek('ann')];

    for (const decision of decisions) expect(decision).toMatchObject({ ...unconfigured, policy: 'never-put' });
    expect(decisions[0]).toMatchObject({ cost: 3, retryAfterMs: null });
    expect(await states()).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^SLUICE_POLICY_UNCONFIGURED: .*checkout .*never-put: there is no such policy.*denied/),
    ]);
  });

  it('because it was removed: known without a restart', async () => {
    const here = policies();
    await here.put('removed', ten, { apps: ['checkout'] });
    const orders = limiter({ policy: managed('removed') });
    await orders.consume('ann', 4);
    const before = await redis.admin.get('sluice:{ann}:removed:2m');

    await here.remove('removed');
    const decision = await until('the process hears of it', async () => {
      const asked = await orders.consume('ann', 0);
      return asked.outcome === 'unconfigured' && asked;
    });

    expect(decision).toMatchObject({ ...unconfigured, policy: 'removed' });
    expect(await orders.consume('ann')).toMatchObject(unconfigured);
    expect(await redis.admin.get('sluice:{ann}:removed:2m')).toBe(before);
    expect(warnings.filter((warning) => warning.includes('it was removed'))).toHaveLength(1);
  });

  it.each([
    ['a part of a name on the list', 'check'],
    ['longer than a name on the list', 'checkout-v2'],
    ['spelt in capitals', 'CHECKOUT'],
    ['two names of the list', 'checkout,billing'],
    ['a name with a space', 'checkout '],
    ['a pattern', '*'],
  ])('because the application is not on its list, but %s', async (_what, app) => {
    await policies().put('mine', ten, { apps: ['checkout', 'billing'] });

    const decision = await limiter({ policy: managed('mine'), app }).consume('ann');

    expect(decision).toMatchObject({ ...unconfigured, policy: 'mine' });
    expect(await states()).toEqual([]);
    expect(warnings.filter((warning) => warning.includes(`the application ${app} cannot use `))).toEqual([
      expect.stringMatching(/^SLUICE_POLICY_UNCONFIGURED: .*not on its list/),
    ]);
  });

  it('because no application may: its list is empty', async () => {
    await policies().put('closed', ten, { apps: [] });

    expect(await limiter({ policy: managed('closed') }).consume('ann')).toMatchObject(unconfigured);
  });

  it('and then may, and may not again: each is known without a restart, and units go on being counted', async () => {
    const here = policies();
    await here.put('mine', ten, { apps: ['checkout', 'billing'] });
    const billing = limiter({ policy: managed('mine'), app: 'billing' });
    await billing.consume('ann', 4);

    await here.put('mine', ten, { apps: ['checkout'] });
    await until('it may not', async () => (await billing.peek('ann')).outcome === 'unconfigured');
    await here.put('mine', ten, { apps: ['billing', 'checkout'] });
    await until('it may', async () => (await billing.peek('ann')).outcome === 'allowed');

    expect((await billing.consume('ann')).remaining).toBe(5);
  });

  it('because of its name alone: a policy of another case is another policy', async () => {
    await policies().put('Orders', ten, { apps: ['checkout'] });

    expect(await limiter({ policy: managed('orders') }).consume('ann')).toMatchObject(unconfigured);
  });
});

describe('onUnconfigured: allow', () => {
  it('allows the request, reports why, and warns once', async () => {
    const orders = limiter({ policy: managed('let-through'), onUnconfigured: 'allow' });

    const decision = await orders.consume('ann');

    expect(decision).toMatchObject({ ...unconfigured, allowed: true, retryAfterMs: 0, policy: 'let-through' });
    expect(await states()).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_POLICY_UNCONFIGURED: .*are allowed/)]);
    await expect(orders.refund(decision)).resolves.toBeUndefined();
  });
});

describe('a limit that is not configured, beside others', () => {
  const limits = [
    { name: 'per-ip', policy: ten },
    { name: 'gone', policy: managed('gone') },
    { name: 'per-user', policy: managed('per-user-policy') },
  ] as const;
  const keys = { 'per-ip': 'an-address', gone: 'ann', 'per-user': 'ann' };
  const with3 = (onUnconfigured: 'allow' | 'deny'): Limiter<typeof keys> =>
    keep(
      createLimiter({
        limits,
        app: 'checkout',
        onUnconfigured,
        store: redisStore(connect(), { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs: 10_000,
      }),
    );

  it('deny: denies all, and consumes nothing from the others', async () => {
    await policies().put('per-user-policy', ten, { apps: ['checkout'] });
    const all = with3('deny');

    expect(await all.consume(keys)).toMatchObject({ ...unconfigured, policy: 'gone' });
    expect(await states()).toEqual([]);
  });

  it('deny: does not matter to a request that has no key for it', async () => {
    await policies().put('per-user-policy', ten, { apps: ['checkout'] });
    const all = with3('deny') as Limiter<Partial<typeof keys>>;

    const decision = await all.consume({ 'per-ip': 'an-address', 'per-user': 'ann' });

    expect(decision).toMatchObject({ allowed: true, remaining: 9 });
    expect(decision.policies.map(({ name }) => name)).toEqual(['per-ip', 'per-user']);
  });

  it('allow: leaves it out, and the others hold, all or nothing', async () => {
    await policies().put('per-user-policy', fixedWindow({ limit: 3, window: '1h' }), { apps: ['checkout'] });
    const all = with3('allow');

    const taken = await all.consume(keys, 2);
    const denied = await all.consume(keys, 2);

    expect(taken).toMatchObject({ allowed: true, outcome: 'allowed', source: 'redis' });
    expect(taken.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['per-ip', 8],
      ['per-user', 1],
    ]);
    expect(denied).toMatchObject({ allowed: false, outcome: 'denied', policy: 'per-user' });
    expect((await all.peek(keys)).policies.map(({ remaining }) => remaining)).toEqual([8, 1]);
    expect(await states()).toEqual(['sluice:{an-address}:default:2f.per-ip', 'sluice:{ann}:per-user-policy:2m'].sort());
  });

  it('allow: refunds what the others consumed', async () => {
    await policies().put('per-user-policy', fixedWindow({ limit: 10, window: '2h' }), { apps: ['checkout'] });
    const all = with3('allow');
    const decision = await all.consume(keys, 4);

    await all.refund(decision, 3);

    expect((await all.peek(keys)).policies.map(({ remaining }) => remaining)).toEqual([9, 9]);
  });

  it('allow: comes in when it is put', async () => {
    const here = policies();
    await here.put('per-user-policy', ten, { apps: ['checkout'] });
    const all = with3('allow');
    await all.consume(keys);

    await here.put('gone', fixedWindow({ limit: 1, window: '1h' }), { apps: ['checkout'] });
    await until('the process hears of it', async () => (await all.peek(keys)).policies.length === 3);

    expect((await all.consume(keys)).allowed).toBe(true);
    expect(await all.consume(keys)).toMatchObject({ allowed: false, policy: 'gone', remaining: 0 });
  });
});

describe('two entries of limits with one policy', () => {
  it('count in the same budget, each under the name of its entry', async () => {
    await policies().put('shared', ten, { apps: ['checkout'] });
    const both = keep(
      createLimiter({
        limits: [
          { name: 'sender', policy: managed('shared') },
          { name: 'receiver', policy: managed('shared') },
        ],
        app: 'checkout',
        store: redisStore(connect(), { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs: 10_000,
      }),
    );

    const apart = await both.consume({ sender: 'ann', receiver: 'bob' }, 4);
    const together = await both.consume({ sender: 'ann', receiver: 'ann' }, 3);

    expect(apart.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['sender', 6],
      ['receiver', 6],
    ]);
    expect(together.policies.map(({ remaining }) => remaining)).toEqual([3, 0]);
  });
});

describe('an edit of a limit that is not configured', () => {
  it.each([
    ['reset', (orders: Limiter) => orders.reset('ann')],
    ['block', (orders: Limiter) => orders.block('ann', '1h')],
    ['unblock', (orders: Limiter) => orders.unblock('ann')],
  ])('%s: rejects, for nothing was done', async (_name, edit) => {
    await expect(edit(limiter({ policy: managed('nothing-to-edit') }))).rejects.toMatchObject({
      code: 'SLUICE_POLICY_UNCONFIGURED',
    });
    expect(await states()).toEqual([]);
  });
});

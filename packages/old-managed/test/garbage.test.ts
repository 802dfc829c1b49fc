import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, tokenBucket } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, keep, connect } = useManaged();

const hundred = fixedWindow({ limit: 100, window: '1h' });
const apps = ['checkout'];
const record = { format: 1, version: 7, policy: hundred, apps, carryOver: 'keep', changedAtMs: 1, earlier: [] };
const before = { version: 5, policy: hundred, carryOver: 'keep' };

const GARBAGE: readonly (readonly [string, unknown])[] = [
  ['an earlier version that is a text', { ...record, earlier: [{ ...before, version: 'x' }] }],
  ['an earlier version that is alone', { ...record, earlier: [{ version: 'x' }] }],
  ['an earlier version of one and a half', { ...record, earlier: [{ ...before, version: 1.5 }] }],
  ['an earlier version that is later', { ...record, earlier: [{ ...before, version: 8 }] }],
  ['an earlier version as large as numbers can be', { ...record, earlier: [{ ...before, version: 2 ** 53 - 1 }] }],
  ['an earlier null', { ...record, earlier: [null] }],
  ['an earlier number', { ...record, earlier: [5] }],
  ['an earlier policy that is null', { ...record, earlier: [{ ...before, policy: null }] }],
  ['an earlier policy that is a text', { ...record, earlier: [{ ...before, policy: 'x' }] }],
  ['an earlier carryOver that does not exist', { ...record, earlier: [{ ...before, carryOver: 'half' }] }],
  ['an earlier that is no list', { ...record, earlier: { 5: before } }],
  ['no earlier', { ...record, earlier: undefined }],
  ['applications that are numbers', { ...record, apps: [...apps, 1, 2] }],
  ['an application that is null', { ...record, apps: [...apps, null] }],
  ['a version as large as numbers can be', { ...record, version: 2 ** 53 - 1 }],
  ['a version beyond', { ...record, version: 1e300 }],
  ['a version of -1', { ...record, version: -1 }],
  ['a policy that is null', { ...record, policy: null }],
  ['a policy that is a list', { ...record, policy: [hundred] }],
  ['a policy that is an empty list', { ...record, policy: [] }],
  ['a policy that is a text', { ...record, policy: 'fixedWindow' }],
  ['a policy that is a number', { ...record, policy: 5 }],
  ['a policy whose algorithm is a list', { ...record, policy: { ...hundred, algorithm: ['fixedWindow'] } }],
  ['a policy whose limit is a text', { ...record, policy: { ...hundred, limit: '100' } }],
  ['a carryOver that does not exist', { ...record, carryOver: 'half' }],
  ['no carryOver', { ...record, carryOver: undefined }],
  ['a format that is a text', { ...record, format: '1' }],
];

describe.each(GARBAGE)('a record with %s', (what, garbage) => {
  const name = what.replaceAll(' ', '-');

  it('makes its own policy unconfigured, and nothing else on its store fails', async () => {
    await policies().put('orders', hundred, { apps });
    const { version } = (await policies().get('orders')) ?? {};
    await redis.admin.hset('sluice:policies', name, JSON.stringify(garbage), '#revision', 'by-hand');
    const store = redisStore(connect(), { prefix: 'sluice' });
    const strange = limiter({ name: 'strange', policy: managed(name), store });
    const managedNeighbour = limiter({ name: 'neighbour', policy: managed('orders'), store });
    const plainNeighbour = limiter({ name: 'plain', policy: hundred, store });
    const both = keep(
      createLimiter({
        name: 'both',
        limits: [
          { name: 'strange', policy: managed(name) },
          { name: 'orders', policy: managed('orders') },
        ],
        onUnconfigured: 'allow',
        app: 'checkout',
        store,
        onStoreError: 'throw',
        timeoutMs: 10_000,
      }),
    );

    const decisions = [];
    for (let i = 0; i < 10; i++) decisions.push(await strange.consume('ann'));
    const neighbours = [await managedNeighbour.consume('ann'), await plainNeighbour.consume('ann')];
    const together = await both.consume({ strange: 'ann', orders: 'ann' });

    for (const decision of decisions) {
      expect(decision).toMatchObject({ allowed: false, outcome: 'unconfigured', policy: name, source: 'none' });
    }
    for (const decision of neighbours) {
      expect(decision).toMatchObject({ allowed: true, source: 'redis', remaining: 99 });
    }
    expect(together.policies.map(({ name: of, remaining }) => [of, remaining])).toEqual([['orders', 98]]);
    for (const one of [strange, managedNeighbour, plainNeighbour, both]) expect(one.status().breaker).toBe('closed');
    expect(await policies().get('orders')).toMatchObject({ version });
  });

  it('can be put again, counts from then on, and can be changed and removed', async () => {
    await redis.admin.hset('sluice:policies', name, JSON.stringify(garbage), '#revision', 'by-hand');
    const here = policies();
    const orders = limiter({ policy: managed(name) });
    await orders.consume('ann');

    const put = await here.put(name, hundred, { apps });
    const fresh = limiter({ policy: managed(name) });
    const first = await fresh.consume('ann', 40);
    const changed = await here.put(name, tokenBucket({ capacity: 50, refill: 1, every: '1h' }), { apps });
    const after = await limiter({ policy: managed(name) }).consume('ann');
    const isRemoved = await here.remove(name);

    expect(put.change).toBe('created');
    expect(first).toMatchObject({ outcome: 'allowed', remaining: 60 });
    expect(changed.change).toBe('changed');
    expect(changed.version).toBeGreaterThan(put.version);
    expect(after).toMatchObject({ outcome: 'allowed', limit: 50, remaining: 9 });
    expect(isRemoved).toBe(true);
  });
});

describe('a record whose earlier versions are of a kind that this release does not know', () => {
  it('takes effect: keys used under them are reset or reject as stale, and no other key does', async () => {
    const later = { ...before, policy: { algorithm: 'ofALaterRelease', limit: 5 } };
    const text = JSON.stringify({ ...record, earlier: [later] });
    await redis.admin.hset('sluice:policies', 'followed', text, '#revision', 'by-hand');
    const orders = limiter({ policy: managed('followed') });

    expect(await orders.consume('ann')).toMatchObject({ outcome: 'allowed', remaining: 99 });
    expect(orders.status().breaker).toBe('closed');
  });
});

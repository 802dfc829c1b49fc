import { describe, expect, it } from '@jest/globals';
import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '@sluice/old-core';
import { createPolicies, managed, type Policies } from '@sluice/old-managed';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter } = useManaged();

const hundred = fixedWindow({ limit: 100, window: '1h' });
const fifty = fixedWindow({ limit: 50, window: '1h' });
const apps = ['checkout'];

/** Every key of the server but those that ask how often something was asked: name and bytes. */
async function everything(): Promise<Record<string, string>> {
  const keys = (await redis.admin.keys('*')).sort();
  const dumps = await Promise.all(keys.map((key) => redis.admin.dumpBuffer(key)));
  return Object.fromEntries(keys.map((key, i) => [key, String(dumps[i]?.toString('hex'))]));
}

describe('putting a policy', () => {
  it('keeps it, with the applications that may use it and the instant', async () => {
    const fromMs = Date.now();

    const put = await policies().put('orders', hundred, { apps: ['checkout', 'billing'] });

    const { version, changedAtMs } = put;
    const kept = { name: 'orders', policy: hundred, apps: ['billing', 'checkout'] };
    expect(put).toMatchObject({ name: 'orders', apps: kept.apps, change: 'created' });
    expect(await policies().get('orders')).toMatchObject({ ...kept, version, changedAtMs });
    expect(version).toBeGreaterThan(0);
    expect(changedAtMs).toBeGreaterThanOrEqual(fromMs);
    expect(changedAtMs).toBeLessThanOrEqual(Date.now());
  });

  it('does nothing when it is there already: not a byte of its record, of the revision, or of any state changes', async () => {
    const here = policies();
    const first = await here.put('orders', hundred, { apps });
    const orders = limiter({ policy: managed('orders') });
    for (const key of ['ann', 'bob']) await orders.consume(key, 7);
    await orders.block('bob', '1h');
    const before = await everything();

    const again = await here.put('orders', fixedWindow({ limit: 100, window: 3_600_000 }), { apps });
    const elsewhere = await policies().put('orders', hundred, { apps });

    const { version, changedAtMs } = first;
    expect(Object.keys(before)).toHaveLength(3);
    expect(again).toMatchObject({ version, changedAtMs, change: 'unchanged' });
    expect(elsewhere).toMatchObject({ version, changedAtMs, change: 'unchanged' });
    expect(await everything()).toEqual(before);
    await orders.consume('ann');
    expect((await orders.peek('ann')).remaining).toBe(92);
  });

  it('does nothing when only carryOver differs, or the order of the applications, or one is named twice', async () => {
    const here = policies();
    await here.put('orders', hundred, { apps: ['a', 'b'] });
    const before = await everything();

    const results = [
      await here.put('orders', hundred, { apps: ['a', 'b'], carryOver: 'reset' }),
      await here.put('orders', hundred, { apps: ['b', 'a', 'b'] }),
      await here.put('orders', { ...hundred, name: 'another-name' }, { apps: ['a', 'b'] }),
    ];

    expect(results.map(({ change }) => change)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(await everything()).toEqual(before);
  });

  it('changes neither version nor states when only the applications change', async () => {
    const here = policies();
    const { version } = await here.put('orders', hundred, { apps });
    const orders = limiter({ policy: managed('orders') });
    await orders.consume('ann', 7);
    const { 'sluice:policies': registry, ...states } = await everything();

    const put = await here.put('orders', hundred, { apps: ['checkout', 'billing'], carryOver: 'reset' });

    const { 'sluice:policies': registryAfter, ...statesAfter } = await everything();
    expect(put).toMatchObject({ version, change: 'changed', apps: ['billing', 'checkout'] });
    expect(registryAfter).not.toBe(registry);
    expect(statesAfter).toEqual(states);
    expect((await limiter({ policy: managed('orders'), app: 'billing' }).consume('ann')).remaining).toBe(92);
  });

  it.each([
    ['limit', fifty],
    ['window', fixedWindow({ limit: 100, window: '2h' })],
    ['alignment', fixedWindow({ limit: 100, window: '1h', align: 'clock' })],
    ['kind', slidingWindow({ limit: 100, window: '1h' })],
  ] as readonly (readonly [string, Policy])[])('gives a later version to another %s', async (_what, policy) => {
    const here = policies();
    const first = await here.put('orders', hundred, { apps });

    const second = await here.put('orders', policy, { apps });
    const back = await here.put('orders', hundred, { apps });

    expect([second.change, back.change]).toEqual(['changed', 'changed']);
    expect(second.version).toBeGreaterThan(first.version);
    expect(back.version).toBeGreaterThan(second.version);
    expect((await policies().get('orders'))?.policy).toEqual(hundred);
  });

  it('only returns what would change, in a dry run', async () => {
    const here = policies();
    const created = await here.put('orders', hundred, { apps, dryRun: true });
    const nothing = await everything();
    await here.put('orders', hundred, { apps });
    const before = await everything();

    const changes = [
      (await here.put('orders', hundred, { apps, dryRun: true })).change,
      (await here.put('orders', fifty, { apps, dryRun: true })).change,
      (await here.put('orders', hundred, { apps: [], dryRun: true })).change,
    ];

    expect(created.change).toBe('created');
    expect(nothing).toEqual({});
    expect(changes).toEqual(['unchanged', 'changed', 'changed']);
    expect(await everything()).toEqual(before);
  });

  it('creates it once, where two hundred say the same at the same time', async () => {
    const processes = Array.from({ length: 8 }, () => policies());
    const processOf = (i: number): Policies => processes[i % 8] as Policies;

    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => processOf(i).put('orders', hundred, { apps })),
    );

    expect(results.filter((result) => result.change === 'created')).toHaveLength(1);
    expect(results.filter((result) => result.change === 'unchanged')).toHaveLength(199);
    expect(new Set(results.map((result) => result.version)).size).toBe(1);
  });

  it('loses none of several that change it at the same time: each has a version of its own, and knows those before it', async () => {
    const limits = Array.from({ length: 12 }, (_, i) => i + 1);

    const results = await Promise.all(
      limits.map((limit) => policies().put('orders', fixedWindow({ limit, window: '1h' }), { apps })),
    );

    const inOrder = results.toSorted((one, other) => one.version - other.version);
    const record = JSON.parse((await redis.admin.hget('sluice:policies', 'orders')) ?? '') as {
      version: number;
      earlier: { version: number; policy: { limit: number } }[];
    };
    const history = [{ version: record.version }, ...record.earlier].map(({ version }) => version).reverse();
    expect(new Set(history).size).toBe(12);
    expect(inOrder.map(({ version }) => version)).toEqual(history);
    expect(results.filter(({ change }) => change === 'created')).toHaveLength(1);
    expect(record.earlier.map(({ policy }) => policy.limit).reverse()).toEqual(
      inOrder.slice(0, -1).map(({ policy }) => 'limit' in policy && policy.limit),
    );
  });

  it('loses no application of several that add one at the same time to those that are there', async () => {
    await policies().put('orders', hundred, { apps });
    const added = Array.from({ length: 8 }, (_, i) => `app-${String(i)}`);

    await Promise.all(added.map((app) => policies().put('orders', hundred, { apps: (before) => [...before, app] })));

    expect((await policies().get('orders'))?.apps).toEqual([...added, ...apps].sort());
  });

  it('asks for the applications of a policy that does not exist, or was removed, with none', async () => {
    const asked: unknown[] = [];
    const only = (before: readonly string[]): readonly string[] => (asked.push(before), apps);

    await policies().put('orders', hundred, { apps: only });
    await policies().remove('orders');
    await policies().put('orders', hundred, { apps: only });
    await policies().put('orders', hundred, { apps: only });

    expect(asked).toEqual([[], [], apps]);
    await expect(policies().put('orders', hundred, { apps: () => [''] })).rejects.toMatchObject({ field: 'apps[0]' });
  });

  it('loses none of two hundred with names of their own', async () => {
    const processes = Array.from({ length: 8 }, () => policies());
    const processOf = (i: number): Policies => processes[i % 8] as Policies;
    const names = Array.from({ length: 200 }, (_, i) => `policy-${String(i)}`);

    await Promise.all(names.map((name, i) => processOf(i).put(name, hundred, { apps })));

    expect((await policies().list()).map(({ name }) => name)).toEqual(names.toSorted());
  });
});

describe('the list of policies', () => {
  it('is in the order of their names, without those that were removed', async () => {
    const here = policies();
    for (const name of ['orders', 'Zebra', 'login', 'gone']) await here.put(name, hundred, { apps });
    await here.remove('gone');

    expect((await policies().list()).map(({ name }) => name)).toEqual(['Zebra', 'login', 'orders']);
  });

  it('is that of its prefix', async () => {
    const other = createPolicies(redis.admin, { prefix: 'shop' });
    await other.put('orders', hundred, { apps });

    expect(await policies().list()).toEqual([]);
    expect(await redis.admin.keys('*')).toEqual(['shop:policies']);
    await other.close();
  });

  it('is empty, and no policy is there, where nothing was ever put', async () => {
    expect(await policies().list()).toEqual([]);
    expect(await policies().get('orders')).toBeUndefined();
  });
});

describe('removing a policy', () => {
  it('returns whether there was a policy, and leaves a tombstone', async () => {
    const here = policies();
    await here.put('orders', hundred, { apps });

    const answers = [await here.remove('orders'), await here.remove('orders'), await here.remove('never-there')];

    expect(answers).toEqual([true, false, false]);
    expect(await policies().get('orders')).toBeUndefined();
    expect(JSON.parse((await redis.admin.hget('sluice:policies', 'orders')) ?? '')).not.toHaveProperty('policy');
  });

  it('returns true to only one of several concurrent calls', async () => {
    await policies().put('orders', hundred, { apps });

    const answers = await Promise.all(Array.from({ length: 8 }, () => policies().remove('orders')));

    expect(answers.filter(Boolean)).toHaveLength(1);
  });

  it('keeps what clients have used, should the policy be put again', async () => {
    const here = policies();
    await here.put('orders', hundred, { apps });
    await limiter({ policy: managed('orders') }).consume('ann', 30);
    await here.remove('orders');

    const again = await here.put('orders', hundred, { apps });

    expect(again.change).toBe('created');
    expect((await limiter({ policy: managed('orders') }).consume('ann')).remaining).toBe(69);
  });

  it('forgets it if requested', async () => {
    const here = policies();
    await here.put('orders', hundred, { apps });
    await limiter({ policy: managed('orders') }).consume('ann', 30);
    await here.remove('orders', { state: true });

    await here.put('orders', hundred, { apps, carryOver: 'keep' });

    expect((await limiter({ policy: managed('orders') }).consume('ann')).remaining).toBe(99);
  });

  it('gives what comes later a later version', async () => {
    const here = policies();
    const first = await here.put('orders', hundred, { apps });
    await here.remove('orders');

    expect((await here.put('orders', hundred, { apps })).version).toBeGreaterThan(first.version + 1);
  });
});

describe('every kind of policy', () => {
  it.each([
    fixedWindow({ limit: 100, window: '1h', align: 'clock' }),
    slidingWindow({ limit: 100, window: '1h', precision: '1m' }),
    tokenBucket({ capacity: 100, refill: 3, every: '7s', overdraft: 5 }),
    tokenBucket({ capacity: 100, refill: 3, every: '7s', mode: 'interval' }),
  ] as readonly Policy[])('can be managed: $algorithm', async (policy) => {
    await policies().put('orders', policy, { apps });

    const kept = await policies().get('orders');
    const decision = await limiter({ policy: managed('orders') }).consume('ann', 40);

    expect(kept?.policy).toEqual(policy);
    expect(decision).toMatchObject({ allowed: true, policy: 'orders', limit: 100, remaining: 60, source: 'redis' });
    expect((await policies().put('orders', policy, { apps })).change).toBe('unchanged');
  });
});

describe('a process that is not the only one', () => {
  it('counts with the others: the policy’s name is in the key, and no limiter’s', async () => {
    await policies().put('orders', hundred, { apps: ['checkout', 'billing'] });
    const one = limiter({ name: 'one', policy: managed('orders') });
    const other = limiter({ name: 'other', policy: managed('orders'), app: 'billing' });

    await one.consume('ann', 60);

    expect((await other.consume('ann', 40)).remaining).toBe(0);
    expect((await redis.admin.keys('sluice:{*')).sort()).toEqual(['sluice:{ann}:orders:2m']);
  });
});

import { describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, memoryStore, tokenBucket, type Decision, type Limiter, type Policy } from '@sluice/old-core';
import {
  managed,
  type ListOverridesOptions,
  type OverrideTarget,
  type Policies,
  type PolicySource,
} from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { recordsIn } from './delayed-source.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter } = useManaged();

const apps = ['checkout'];
const timeoutMs = 60_000;
const window = '1h';
const of = (limit: number): Policy => fixedWindow({ limit, window });

/** A source of one process, whose records every process sees: overrides are records like the others. */
function plainSource(): PolicySource {
  let records: Record<string, unknown> = {};
  const put = (name: string, record: object, before: unknown): Promise<boolean> => {
    if (records[name] !== before) return Promise.resolve(false);
    records = { ...records, [name]: record };
    return Promise.resolve(true);
  };
  return { load: () => Promise.resolve(records), put, remove: put };
}

interface Opened {
  readonly here: Policies;
  /** Made when the policy is there. */
  readonly orders: Limiter;
}

async function inRedis(policy: Policy = of(10)): Promise<Opened> {
  const here = policies();
  await here.put('orders', policy, { apps });
  return { here, orders: limiter({ policy: managed('orders'), timeoutMs }) };
}

async function inMemory(policy: Policy = of(10)): Promise<Opened> {
  const here = policies(plainSource());
  await here.put('orders', policy, { apps });
  const store = memoryStore();
  return { here, orders: limiter({ policy: managed('orders'), policies: here, store, timeoutMs }) };
}

async function limits(orders: Limiter, ...keys: string[]): Promise<number[]> {
  return Promise.all(keys.map(async (key) => (await orders.peek(key)).limit));
}

describe.each([
  ['in Redis', inRedis],
  ['of another source, in memory', inMemory],
])('overrides %s', (_where, open) => {
  it('give a key other numbers, and no other key', async () => {
    const { here, orders } = await open();
    const first = await orders.consume('ann', 4);

    const put = await here.override('orders', 'ann', of(50), { by: 'eve', reason: 'a sale' });
    await until('it is in force', async () => (await orders.peek('ann')).limit === 50);

    expect(first).toMatchObject({ allowed: true, limit: 10, remaining: 6 });
    expect(put).toMatchObject({ change: 'created', target: 'ann', by: 'eve', reason: 'a sale', untilMs: null });
    expect(await orders.consume('ann')).toMatchObject({ allowed: true, limit: 50, remaining: 45, policy: 'orders' });
    expect(await orders.consume('bob')).toMatchObject({ limit: 10, remaining: 9 });
  });

  it('change numbers, not state: what was used stays used, there and back', async () => {
    const { here, orders } = await open();
    await orders.consume('ann', 4);
    await here.override('orders', 'ann', of(5));
    await until('it is in force', async () => (await orders.peek('ann')).limit === 5);
    const under = await orders.consume('ann');

    await here.removeOverride('orders', 'ann');
    await until('it is removed', async () => (await orders.peek('ann')).limit === 10);

    expect(under).toMatchObject({ allowed: true, remaining: 0 });
    expect(await orders.consume('ann')).toMatchObject({ allowed: true, limit: 10, remaining: 4 });
  });

  it('of a bucket: a removal, another policy and the override again lose nothing that was used', async () => {
    const bucket = (capacity: number): Policy => tokenBucket({ capacity, refill: 1, every: '1h' });
    const { here, orders } = await open(bucket(10));
    await here.override('orders', 'ann', bucket(20));
    await until('it is in force', async () => (await orders.peek('ann')).limit === 20);
    await orders.consume('ann', 8);

    await here.removeOverride('orders', 'ann');
    await until('it is removed', async () => (await orders.consume('ann', 1)).limit === 10);
    await here.put('orders', bucket(12), { apps });
    await until('the policy is another', async () => (await orders.peek('ann')).limit === 12);
    await here.override('orders', 'ann', bucket(20));
    await until('it is in force again', async () => (await orders.peek('ann')).limit === 20);

    expect((await orders.peek('ann')).used).toBeGreaterThanOrEqual(9);
  });

  it('of the longest prefix win, and a whole key before any prefix', async () => {
    const { here, orders } = await open();
    await here.override('orders', { prefix: 'org-7:' }, of(20));
    await here.override('orders', { prefix: 'org-7:team-1:' }, of(30));
    await here.override('orders', 'org-7:team-1:ann', of(40));
    await until('all are in force', async () => (await orders.peek('org-7:team-1:ann')).limit === 40);

    const found = await limits(orders, 'org-7:', 'org-7:bob', 'org-7:team-1:eve', 'org-7:team-1:ann', 'org-8:x', 'org');

    expect(found).toEqual([20, 20, 30, 40, 10, 10]);
  });

  it('tell what counted before, of those that go before each other', async () => {
    const { here } = await open();
    const byPrefix = await here.override('orders', { prefix: 'org-7:' }, of(20));
    const planned = await here.override('orders', 'org-7:ann', of(40), { dryRun: true });
    const byKey = await here.override('orders', 'org-7:ann', of(40));
    const longer = await here.override('orders', { prefix: 'org-7:team:' }, of(30));
    const same = await here.override('orders', 'org-7:ann', of(40));

    const before = [byPrefix, planned, byKey, longer, same].map((put) => put.before);

    expect(before).toMatchObject([{ limit: 10 }, { limit: 20 }, { limit: 20 }, { limit: 20 }, { limit: 40 }]);
  });

  it('are listed by their beginning, and for one key in the order in which they count', async () => {
    const { here } = await open();
    await here.override('orders', { prefix: 'org-7:' }, of(20));
    await here.override('orders', { prefix: 'org-7:team:' }, of(30));
    await here.override('orders', 'org-7:team:ann', of(40));
    await here.override('orders', 'org-8:ann', of(50));
    const targetsOf = async (options: ListOverridesOptions): Promise<unknown[]> =>
      (await here.overrides('orders', options)).map(({ target }) => target);

    const [byText, ofKey, ofPrefix, ofNone] = await Promise.all([
      targetsOf({ startsWith: 'org-7:' }),
      targetsOf({ concerning: 'org-7:team:ann' }),
      targetsOf({ concerning: { prefix: 'org-7:team:a' } }),
      targetsOf({ concerning: 'org-8:bob' }),
    ]);

    expect(byText).toEqual([{ prefix: 'org-7:' }, { prefix: 'org-7:team:' }, 'org-7:team:ann']);
    expect(ofKey).toEqual(['org-7:team:ann', { prefix: 'org-7:team:' }, { prefix: 'org-7:' }]);
    expect(ofPrefix).toEqual([{ prefix: 'org-7:team:' }, { prefix: 'org-7:' }]);
    expect(ofNone).toEqual([]);
  });

  it('that are removed give way to the next one, whose numbers count', async () => {
    const { here, orders } = await open();
    await here.override('orders', { prefix: 'org-7:' }, of(20));
    await here.override('orders', 'org-7:ann', of(40));
    await until('both are in force', async () => (await orders.peek('org-7:ann')).limit === 40);
    await orders.consume('org-7:ann', 15);

    await here.removeOverride('orders', 'org-7:ann');
    await until('the prefix counts', async () => (await orders.peek('org-7:ann')).limit === 20);
    const byPrefix = await orders.consume('org-7:ann');
    await here.removeOverride('orders', { prefix: 'org-7:' });
    await until('the policy counts', async () => (await orders.peek('org-7:ann')).limit === 10);
    const byPolicy = await orders.consume('org-7:ann');

    expect(byPrefix).toMatchObject({ allowed: true, remaining: 4 });
    expect(byPolicy).toMatchObject({ allowed: false, remaining: 0, used: 16 });
  });

  it('stay when their policy changes, and count on under its new numbers when they are removed', async () => {
    const { here, orders } = await open();
    await here.override('orders', 'ann', of(50));
    await until('it is in force', async () => (await orders.peek('ann')).limit === 50);
    await orders.consume('ann', 7);

    await here.put('orders', of(100), { apps });
    await until('the policy is another', async () => (await orders.peek('bob')).limit === 100);
    const under = await orders.consume('ann');
    await here.removeOverride('orders', 'ann');
    await until('it is removed', async () => (await orders.peek('ann')).limit === 100);

    expect(under).toMatchObject({ limit: 50, remaining: 42 });
    expect(await orders.consume('ann')).toMatchObject({ remaining: 91 });
  });

  it('are listed with who changed them, when and why, and a removal too', async () => {
    const { here } = await open();
    await here.override('orders', 'ann', of(50), { by: 'eve', reason: 'a sale' });
    await here.override('orders', { prefix: 'org-7:' }, of(20));
    await here.override('orders', 'bob', of(1), { by: 'eve', reason: 'abuse' });
    await here.removeOverride('orders', 'bob', { by: 'dan', reason: 'it was not bob' });

    const inForce = await here.overrides('orders');
    const all = await here.overrides('orders', { ended: true });

    expect(inForce.map(({ target }) => target)).toEqual(['ann', { prefix: 'org-7:' }]);
    expect(inForce[0]).toMatchObject({ name: 'orders', policy: of(50), by: 'eve', reason: 'a sale', untilMs: null });
    expect(all.find(({ target }) => target === 'bob')).toMatchObject({
      policy: null,
      by: 'dan',
      reason: 'it was not bob',
    });
    expect(await here.overrides('orders', { limit: 1 })).toHaveLength(1);
  });

  it('that are put again change nothing', async () => {
    const { here } = await open();
    const { version } = await here.override('orders', 'ann', of(50), { reason: 'a sale' });

    expect(await here.override('orders', 'ann', of(50))).toMatchObject({
      change: 'unchanged',
      version,
      reason: 'a sale',
    });
    expect(await here.override('orders', 'ann', of(60), { dryRun: true })).toMatchObject({ change: 'changed' });
    expect((await here.overrides('orders'))[0]).toMatchObject({ policy: of(50) });
    expect(await here.removeOverride('orders', 'bob')).toBe(false);
  });

  it('of keys with the same numbers share a limit, so that batches stay batches', async () => {
    const { here } = await open();
    const first = await here.override('orders', 'ann', of(50));
    const second = await here.override('orders', 'bob', of(50));
    await here.removeOverride('orders', 'bob');
    const again = await here.override('orders', 'bob', of(50));

    expect(second.version).toBe(first.version);
    expect(again.version).toBeGreaterThan(first.version);
  });

  it.each([
    ['', of(1), 'target'],
    [{ prefix: '' }, of(1), 'target'],
    [{ prefix: '#x' }, of(1), 'target'],
    [{ prefix: 'x'.repeat(257) }, of(1), 'target'],
    ['ann', tokenBucket({ capacity: 1, refill: 1, every: '1s' }), 'policy'],
  ])('that have a bad target or kind (%#) are errors', async (target, policy, field) => {
    const { here } = await open();

    await expect(here.override('orders', target, policy)).rejects.toMatchObject({ name: 'PolicyError', field });
  });

  it('need their policy, and an end that is yet to come', async () => {
    const { here } = await open();

    await expect(here.override('returns', 'ann', of(1))).rejects.toMatchObject({ field: 'name' });
    await expect(here.override('orders', 'ann', of(1), { until: 1 })).rejects.toMatchObject({ field: 'until' });
  });
});

describe('thousands of overrides in Redis', () => {
  it('are read a page at a time', async () => {
    const here = policies();
    await here.put('orders', of(10), { apps });
    const record = JSON.stringify({ format: 1, version: 1, policy: of(60), changedAtMs: 1, earlier: [] });
    const names = Array.from({ length: 1100 }, (_, i) => `orders:key:${String(i)}`);
    await redis.admin.hset('sluice:{#overrides}:records', Object.fromEntries(names.map((name) => [name, record])));
    await redis.admin.zadd('sluice:{#overrides}:changes', ...names.flatMap((name, i) => [i + 1, name]));

    const orders = limiter({ policy: managed('orders'), timeoutMs });

    expect(await limits(orders, '0', '1099', 'ann')).toEqual([60, 60, 10]);
    expect(await here.overrides('orders')).toHaveLength(1100);
  });
});

describe('an override of a long key', () => {
  it('is of the whole key', async () => {
    const { here, orders } = await inRedis();
    const long = `org-7:${'x'.repeat(300)}`;
    await here.override('orders', { prefix: 'org-7:' }, of(20));
    await here.override('orders', long, of(50));
    await until('it is in force', async () => (await orders.peek(long)).limit === 50);

    expect(await limits(orders, `${long}y`, 'org-7:ann')).toEqual([10, 20]);
  });
});

describe('two processes', () => {
  it('that override one key at once do so one after the other, also within a millisecond', async () => {
    const one = policies();
    const other = policies();
    await one.put('orders', of(10), { apps });
    for (let i = 0; i < 60; i++) {
      const key = `ann-${String(i)}`;
      const made = await Promise.all([one.override('orders', key, of(20)), other.override('orders', key, of(30))]);

      expect(made.map(({ change }) => change).toSorted()).toEqual(['changed', 'created']);
      const last = made.find(({ change }) => change === 'changed');
      const [listed] = await one.overrides('orders', { concerning: key });
      expect(listed).toMatchObject({ policy: last?.policy, version: last?.version });
    }
  });

  it('of which one has not heard of a removal, count together: what it does not know sends it to the source', async () => {
    const here = policies();
    await here.put('orders', of(10), { apps });
    await here.override('orders', 'ann', of(50));
    const records = await recordsIn(redis.admin);
    const changes = await redis.admin.hgetall('sluice:{#overrides}:records');
    let isOutdated = true;
    const old: PolicySource = {
      load: async () =>
        isOutdated
          ? { ...records, 'orders:key:ann': JSON.parse(changes['orders:key:ann'] as string) as unknown }
          : { ...(await recordsIn(redis.admin)), 'orders:key:ann': await recordOf('orders:key:ann') },
    };
    const recordOf = async (name: string): Promise<unknown> =>
      JSON.parse((await redis.admin.hget('sluice:{#overrides}:records', name)) as string) as unknown;
    const behind = limiter({ policy: managed('orders'), policies: policies(old), timeoutMs });
    const ahead = limiter({ policy: managed('orders'), timeoutMs });
    await behind.consume('ann', 8);
    await here.removeOverride('orders', 'ann');
    await until('one has heard', async () => (await ahead.peek('ann')).limit === 10);
    await ahead.consume('ann');

    isOutdated = false;
    const decision = await behind.consume('ann');

    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 0 });
    expect(await ahead.consume('ann')).toMatchObject({ allowed: false });
  });
});

describe('an override that is read while the policies are not', () => {
  it('is in force, also for the key that was asked last', async () => {
    const here = policies();
    await here.put('orders', of(10), { apps });
    const records = await recordsIn(redis.admin);
    const overrides: (readonly [string, unknown])[] = [];
    let isAway = false;
    const source: PolicySource = {
      load: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(records)),
      overrides: {
        changes: (cursor = '0') =>
          Promise.resolve({
            records: overrides.slice(Number(cursor)),
            ...{ cursor: String(overrides.length), hasMore: false, isFromStart: false },
          }),
        read: () => Promise.resolve(undefined),
      },
    };
    const orders = limiter({ policy: managed('orders'), policies: policies(source), store: memoryStore(), timeoutMs });
    const before = await limits(orders, 'ann');

    isAway = true;
    for (const [version, limit] of [50, 5].entries()) {
      overrides.push([
        'orders:key:ann',
        {
          ...{ format: 1, version: version + 100, policy: of(limit), changedAtMs: 0, earlier: [] },
        },
      ]);
      await until('it is in force', async () => (await orders.peek('ann')).limit === limit);
    }

    expect(before).toEqual([10]);
  });
});

describe('an override with an end', () => {
  it('ends by the clock of the source, whatever the clock of the process', async () => {
    const here = policies();
    await here.put('orders', of(10), { apps });
    await here.override('orders', 'ann', of(50), { until: Date.now() + 3_600_000, reason: 'an hour' });
    const records = await recordsIn(redis.admin);
    const record = JSON.parse((await redis.admin.hget('sluice:{#overrides}:records', 'orders:key:ann')) as string) as {
      untilMs: number;
    };
    let nowMs = record.untilMs - 1_000_000;
    const source: PolicySource = {
      load: () => Promise.resolve(records),
      overrides: {
        changes: (cursor) =>
          Promise.resolve({
            records: cursor === undefined ? [['orders:key:ann', record]] : [],
            ...{ cursor: '1', hasMore: false, isFromStart: cursor === undefined, nowMs },
          }),
        read: () => Promise.resolve(record),
      },
    };
    const there = policies(source);
    const orders = limiter({ policy: managed('orders'), policies: there, store: memoryStore(), timeoutMs });
    const before = await orders.consume('ann', 12);
    const listed = await there.overrides('orders');

    nowMs = record.untilMs + 1;
    await until('it has ended', async () => (await orders.peek('ann')).limit === 10);

    expect(before).toMatchObject({ allowed: true, limit: 50 });
    expect(await orders.consume('ann')).toMatchObject({ allowed: false, used: 12 });
    expect([listed.length, (await there.overrides('orders')).length]).toEqual([1, 0]);
    expect(await limits(limiter({ policy: managed('orders'), timeoutMs }), 'ann')).toEqual([50]);
  });

  it('that has ended for another process first, is not in force for its key any more', async () => {
    const { here, orders } = await inRedis();
    const untilMs = Date.now() + 3_600_000;
    await here.override('orders', 'ann', of(50), { until: untilMs });
    const records = await recordsIn(redis.admin);
    const text = (await redis.admin.hget('sluice:{#overrides}:records', 'orders:key:ann')) as string;
    const page = { records: [['orders:key:ann', JSON.parse(text) as unknown] as const], cursor: '1', hasMore: false };
    const ahead: PolicySource = {
      load: () => Promise.resolve(records),
      overrides: {
        changes: () => Promise.resolve({ ...page, isFromStart: false, nowMs: untilMs + 1 }),
        read: () => Promise.resolve(undefined),
      },
    };
    await until('it is in force', async () => (await orders.peek('ann')).limit === 50);

    const there = await limiter({ policy: managed('orders'), policies: policies(ahead), timeoutMs }).consume('ann', 3);
    const here2 = await orders.consume('ann');

    expect(there).toMatchObject({ limit: 10, remaining: 7 });
    expect(here2).toMatchObject({ limit: 10, remaining: 6 });
  });
});

describe('an override that ends before its own version, because a clock ran ahead', () => {
  /** A source whose clock the test sets. */
  function clockedSource(): { readonly source: PolicySource; nowMs: number } {
    const clocked = { nowMs: Date.now() };
    const policiesOf = plainSource();
    const changes: (readonly [string, unknown])[] = [];
    const read = (name: string): Promise<unknown> => Promise.resolve(changes.findLast(([one]) => one === name)?.[1]);
    const source: PolicySource = {
      load: () => policiesOf.load(),
      put: async (name, record, before) => {
        if (!name.includes(':')) return (await policiesOf.put?.(name, record, before)) ?? false;
        changes.push([name, record]);
        return true;
      },
      overrides: {
        changes: (cursor) =>
          Promise.resolve({
            records: changes.slice(Number(cursor ?? 0)),
            ...{ cursor: String(changes.length), hasMore: false, isFromStart: cursor === undefined, ...clocked },
          }),
        read,
      },
    };
    return Object.assign(clocked, { source });
  }

  /** A change of numbers while the key has the version that the end has brought about. */
  async function afterItsEnd(
    first: OverrideTarget,
    change: (here: Policies) => Promise<unknown>,
  ): Promise<readonly [Decision, number]> {
    const clocked = clockedSource();
    const there = policies(clocked.source);
    await there.put('orders', of(10), { apps });
    const orders = limiter({ policy: managed('orders'), policies: there, store: memoryStore(), timeoutMs });
    const clock = jest.spyOn(Date, 'now').mockReturnValue(clocked.nowMs + 9000);
    const { version } = await there.override('orders', first, of(50), { until: clocked.nowMs + 5000 });
    clock.mockRestore();
    clocked.nowMs += 6000;
    await until('it has ended', async () => (await orders.peek('ann')).limit === 10);
    await orders.consume('ann', 4);

    await change(policies(clocked.source));
    await until('the change is in force', async () => (await orders.peek('ann')).limit === 30);
    return [await orders.consume('ann'), version + 1];
  }

  const changes: readonly (readonly [string, OverrideTarget, (here: Policies) => Promise<{ version: number }>])[] = [
    ['of the key', 'ann', (here) => here.override('orders', 'ann', of(30))],
    ['of a prefix of the key, by one of the key', { prefix: 'an' }, (here) => here.override('orders', 'ann', of(30))],
    ['of the key, by one of a prefix', 'ann', (here) => here.override('orders', { prefix: 'an' }, of(30))],
    ['of the key, by the policy', 'ann', (here) => here.put('orders', of(30), { apps })],
  ];

  it.each(changes)('has a later version after it: %s', async (_what, first, change) => {
    let version = 0;
    const [decision, ofEnd] = await afterItsEnd(first, async (here) => {
      ({ version } = await change(here));
    });

    expect(version).toBeGreaterThan(ofEnd);
    expect(decision).toMatchObject({ limit: 30, used: 5 });
  });
});

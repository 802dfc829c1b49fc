import { describe, expect, it, jest } from '@jest/globals';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { until } from '@sluice/testkit';
import type { OverrideOptions } from '../../src/managed/index.ts';
import { ten, twenty, useWorld } from './use-policies.ts';

const { redis, process } = useWorld();

describe('put', () => {
  it('keeps a policy with the instant of the server, who put it and why', async () => {
    const [seconds = ''] = (await redis.admin.time()) as unknown as string[];

    const put = await process().policies.put('orders', ten, { apps: ['b', 'a', 'b'], by: 'ann', reason: 'launch' });

    expect(put).toMatchObject({ name: 'orders', policy: ten, apps: ['a', 'b'], by: 'ann', reason: 'launch' });
    expect(put).toMatchObject({ change: 'created', startsAfresh: false, removedOverrides: [] });
    expect(Math.abs(put.changedAtMs - Number(seconds) * 1000)).toBeLessThan(60_000);
    expect(put).toMatchObject((await process().policies.get('orders')) as object);
  });

  it('changes nothing if the numbers and applications are equal', async () => {
    const { policies } = process();
    const { changedAtMs } = await policies.put('orders', ten, { apps: ['a'] });

    const again = await process().policies.put('orders', fixedWindow({ limit: 10, window: 3_600_000 }), { by: 'ci' });

    expect(again).toMatchObject({ change: 'unchanged', changedAtMs, by: null });
  });

  it('keeps the applications unless others are given', async () => {
    const { policies } = process();
    await policies.put('orders', ten, { apps: ['a'] });

    expect(await policies.put('orders', twenty)).toMatchObject({ apps: ['a'], change: 'changed', startsAfresh: false });
    expect(await policies.put('orders', twenty, { apps: [] })).toMatchObject({ apps: [], change: 'changed' });
  });

  it('lets two processes add an application each at the same time', async () => {
    const one = process().policies;
    const other = process().policies;
    await one.put('orders', ten, { apps: [] });

    await Promise.all([
      one.put('orders', ten, { apps: (before) => [...before, 'a'] }),
      other.put('orders', ten, { apps: (before) => [...before, 'b'] }),
    ]);

    expect((await one.get('orders'))?.apps).toEqual(['a', 'b']);
  });

  it('replaces a record that was written by hand meanwhile, which leaves no revision', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    await redis.admin.hset('sluice:{#policies}:records', 'orders', JSON.stringify({ atMs: 1, policy: ten, life: 0 }));

    expect(await policies.put('orders', twenty)).toMatchObject({ change: 'changed' });
    expect(await process().policies.get('orders')).toMatchObject({ policy: twenty });
  });

  it('says that a reset starts afresh and keeps the overrides, and that another kind does and which it removes', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', twenty);
    await policies.override('orders', { prefix: 'org-' }, twenty);

    const reset = await policies.put('orders', ten, { reset: true });
    const put = await policies.put('orders', slidingWindow({ limit: 10, window: '1h' }));

    expect(reset).toMatchObject({ change: 'changed', startsAfresh: true, removedOverrides: [] });
    expect(put).toMatchObject({ startsAfresh: true, removedOverrides: ['ann', { prefix: 'org-' }] });
    expect(await process().policies.overrides('orders')).toEqual([]);
  });

  it('keeps its instant ahead of the one before, even if the clock of the server is behind', async () => {
    const { policies } = process();
    const { changedAtMs } = await policies.put('orders', ten);
    const text = String(await redis.admin.hget('sluice:{#policies}:records', 'orders'));
    const aheadMs = changedAtMs + 3_600_000;
    await redis.admin.hset('sluice:{#policies}:records', 'orders', text.replace(String(changedAtMs), String(aheadMs)));

    expect(await process().policies.put('orders', twenty)).toMatchObject({ changedAtMs: aheadMs + 1 });
  });

  it.each([
    ['name', ['no colons: please', ten], 'name must be a letter followed by'],
    ['policy', ['orders', { limit: 5 }], 'policy must be a policy made by'],
    ['apps', ['orders', ten, { apps: 'shop' }], 'apps must be a list of applications'],
    ['apps', ['orders', ten, { apps: ['a'.repeat(129)] }], 'apps must be a list of applications, names of 1 to 128'],
    ['by', ['orders', ten, { by: '' }], 'by must be a string of 1 to 256 characters'],
    ['dryRun', ['orders', ten, { dryRun: true }], 'put has no option "dryRun"'],
  ])('rejects a bad %s', async (field, args, message) => {
    const { policies } = process();

    const put = policies.put(...(args as Parameters<typeof policies.put>));

    await expect(put).rejects.toMatchObject({ field, message: expect.stringContaining(message) });
  });
});

describe('a name', () => {
  it('is one policy, whatever its case', async () => {
    const { policies } = process();
    await policies.put('orders', ten);

    await expect(policies.put('Orders', twenty)).rejects.toMatchObject({
      field: 'name',
      message: expect.stringContaining('name must differ from "orders" by more than case, got "Orders"'),
    });
    expect((await policies.list()).map(({ name }) => name)).toEqual(['orders']);
    await policies.remove('orders');
    expect(await policies.put('Orders', twenty)).toMatchObject({ change: 'created' });
  });
});

describe('remove', () => {
  it('keeps a record of who removed it and why, and ends the overrides for good', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', twenty);

    expect(await policies.remove('orders', { by: 'bob', reason: 'unused' })).toBe(true);

    expect(await policies.remove('orders')).toBe(false);
    expect(await process().policies.list()).toEqual([]);
    expect(await redis.admin.hget('sluice:{#policies}:records', 'orders')).toContain('"by":"bob","reason":"unused"');
    await policies.put('orders', ten);
    expect(await policies.overrides('orders')).toEqual([]);
  });
});

describe('an override', () => {
  it('is kept with who set it, why and until when, and shows what counted before', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    const until = new Date(Date.now() + 3_600_000);

    const set = await policies.override('orders', 'ann', twenty, { until, by: 'bob', reason: 'sale' });

    expect(set).toMatchObject({ change: 'created', before: ten, untilMs: until.getTime(), by: 'bob', reason: 'sale' });
    expect(await process().policies.overrides('orders')).toEqual([
      {
        name: 'orders',
        target: 'ann',
        policy: twenty,
        untilMs: until.getTime(),
        changedAtMs: set.changedAtMs,
        by: 'bob',
        reason: 'sale',
      },
    ]);
    expect(await policies.override('orders', 'ann', twenty, { until })).toMatchObject({ change: 'unchanged' });
    expect(await policies.override('orders', 'ann', ten)).toMatchObject({ change: 'changed', before: twenty });
  });

  it('goes by the whole key, then by the longest prefix', async () => {
    const { policies, follower } = process();
    const limit = (n: number) => fixedWindow({ limit: n, window: '1h' });
    await policies.put('orders', limit(1));
    await policies.override('orders', { prefix: 'org-' }, limit(2));
    await policies.override('orders', { prefix: 'org-7:' }, limit(3));
    await policies.override('orders', 'org-7:ann', limit(4));

    const keys = ['bob', 'org-1', 'org-7:', 'org-7:ann', 'org-7:anna', `org-7:${'x'.repeat(500)}`];

    expect(keys.map((key) => follower.copy.find('orders', key))).toEqual([1, 2, 3, 4, 3, 3].map(limit));
  });

  it('concerns keys of any length and any characters', async () => {
    const { policies, follower } = process();
    const keys = ['#a', 'x'.repeat(300), '{ann}', 'a:key:b', 'a\nb', '🙂'];
    await policies.put('orders', ten);

    for (const key of keys) await policies.override('orders', key, twenty);

    const reader = process();
    await reader.policies.list();
    for (const { copy } of [follower, reader.follower]) {
      expect(keys.map((key) => copy.find('orders', key))).toEqual(keys.map(() => twenty));
    }
    expect(follower.copy.find('orders', '#b')).toEqual(ten);
  });

  it.each(['ann', { prefix: 'a' }, 'k'.repeat(300)])('of %j ends by what it is listed under', async (target) => {
    const { policies, follower } = process();
    const key = typeof target === 'string' ? target : 'ann';
    await policies.put('orders', ten);
    await policies.override('orders', target, twenty);
    expect(follower.copy.find('orders', key)).toEqual(twenty);
    const [{ target: listed } = { target }] = await policies.overrides('orders');

    expect(await policies.removeOverride('orders', listed)).toBe(true);

    expect(await policies.removeOverride('orders', listed)).toBe(false);
    expect(follower.copy.find('orders', key)).toEqual(ten);
  });

  it('ends by the clock of the server, whatever that of the process', async () => {
    const nowMs = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(nowMs + 86_400_000);
    const { policies, follower } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', twenty, { until: nowMs + 2000 });
    expect(follower.copy.find('orders', 'ann')).toEqual(twenty);

    await until('it has ended', () => follower.copy.find('orders', 'ann') === follower.copy.get('orders')?.policy);

    expect(await policies.overrides('orders')).toEqual([]);
  });

  it.each([
    ['policy', 'ann', slidingWindow({ limit: 1, window: '1h' }), {}, 'must be a fixedWindow, as orders is'],
    ['target', '', ten, {}, 'target must be a key, such as "ann", or { prefix }'],
    ['target', { prefix: '' }, ten, {}, 'got a prefix of ""'],
    ['target', { prefix: '\ud800' }, ten, {}, 'got a prefix of'],
    ['until', 'ann', ten, { until: 1 }, 'until must be later than now, 20'],
    ['until', 'ann', ten, { until: '1h' }, 'until must be a date, or milliseconds since 1970'],
  ])('with a bad %s is rejected (%j)', async (field, target, policy, options, message) => {
    const { policies } = process();
    await policies.put('orders', ten);

    const set = policies.override('orders', target, policy, options as OverrideOptions);

    await expect(set).rejects.toMatchObject({ field, message: expect.stringContaining(message) });
  });

  it('needs its policy', async () => {
    const set = process().policies.override('orders', 'ann', ten);

    await expect(set).rejects.toThrow(
      'an override needs the managed policy "orders" (it does not exist, or was removed)',
    );
  });
});

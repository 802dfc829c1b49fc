import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, silenceWarnings, type Limiter } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import type { KeyReport } from '@sluice/old-core/inspect';
import { until } from '@sluice/testkit';
import { contents, runSluice, useCli } from './sluice.ts';

silenceWarnings('SLUICE_POLICIES_LOST', 'SLUICE_POLICY_UNCONFIGURED');
const cli = useCli();
const limiters: Limiter[] = [];
const closeLimiters = (): Promise<unknown> => Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
afterEach(closeLimiters);
beforeEach(async () => {
  await cli.admin.flushall();
});

const ORDERS = ['policy', 'put', 'orders', 'fixedWindow', '--limit', '100', '--window', '1m', '--app', 'checkout'];
const limiterOf = (app: string): Limiter => {
  const store = redisStore(cli.storeUrl, { prefix: 'sluice' });
  const policy = managed('orders');
  const limiter = createLimiter({ policy, app, store, onStoreError: 'throw', timeoutMs: 60_000 });
  limiters.push(limiter);
  return limiter;
};
const versionIn = (text: string): number => Number(/version (\d+)/.exec(text)?.[1]);
const cellsOf = (text: string): readonly (readonly string[])[] => text.split('\n').map((line) => line.split(/ {2,}/));

describe('a command in a process of its own', () => {
  it('does what it is for, prints it, and ends', async () => {
    const lines = [ORDERS, ['policy', 'list'], ['policy', 'get', 'orders']];
    const all = [...lines, ['inspect', 'a'], ['policy', 'remove', 'orders']];

    const lastOfNothing = 'The keys of another store need --redis and --prefix as that store has them.';
    const ran = [];
    for (const line of all) ran.push(await runSluice(line, { env: { SLUICE_REDIS: cli.url } }));

    expect(ran.map(({ code, err }) => ({ code, err }))).toEqual(all.map(() => ({ code: 0, err: '' })));
    expect(
      ran.map(({ out }) =>
        out
          .split('\n')
          .at(-1)
          ?.replace(/ {2,}.*| \(.*/, ''),
      ),
    ).toEqual(['created orders', 'orders', 'orders', lastOfNothing, 'removed orders']);
  });
});

describe('policy put', () => {
  it('creates a policy, leaves it unchanged, and changes it', async () => {
    const created = await cli.sluice(...ORDERS);
    const same = await cli.sluice(...ORDERS);
    const changed = await cli.sluice(...ORDERS.map((word) => (word === '100' ? '50' : word)), '--app', 'billing');

    expect([created, same, changed].map(({ code, err }) => [code, err])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
    ]);
    expect([created, same, changed].map(({ out }) => out.replace(/\d{13,}/, 'N'))).toEqual([
      'created orders (version N): fixedWindow 100 per 1m, for checkout',
      'unchanged orders (version N): fixedWindow 100 per 1m, for checkout',
      'changed orders (version N): fixedWindow 50 per 1m, for billing, checkout (added: billing)',
    ]);
    expect(versionIn(same.out)).toBe(versionIn(created.out));
    expect(versionIn(changed.out)).toBeGreaterThan(versionIn(created.out));
  });

  it('keeps the applications that have the policy, whatever --app names', async () => {
    const other = ORDERS.map((word) => (word === 'checkout' ? 'chekcout' : word === '100' ? '20' : word));
    await cli.sluice(...ORDERS);

    const said = await cli.sluice(...other, '--dry-run');
    await cli.sluice(...other);

    expect(said.out).toBe('would be changed: orders: fixedWindow 20 per 1m, for checkout, chekcout (added: chekcout)');
    expect(await limiterOf('checkout').consume('a')).toMatchObject({ outcome: 'allowed', limit: 20 });
  });

  it('loses no application of two that are added at the same time', async () => {
    await cli.sluice(...ORDERS);
    const names = ['shop', 'billing', 'search', 'mail'];

    await Promise.all(names.map((name) => cli.sluice(...ORDERS, '--app', name)));

    expect(await cli.json('policy', 'get', 'orders')).toMatchObject({ apps: [...names, 'checkout'].sort() });
  });

  it('changes a number without an --app', async () => {
    await cli.sluice(...ORDERS);

    const { out } = await cli.sluice(...ORDERS.slice(0, -2).map((word) => (word === '100' ? '50' : word)));

    expect(out).toMatch(/^changed orders \(version \d+\): fixedWindow 50 per 1m, for checkout$/);
  });

  it('removes an application that --remove-app names, and says which loses the policy', async () => {
    const put = ORDERS.slice(0, -2);
    await cli.sluice(...ORDERS, '--app', 'billing');

    const said = await cli.sluice(...put, '--remove-app', 'checkout', '--dry-run');
    const done = await cli.sluice(...put, '--remove-app', 'checkout');

    expect(said.out).toBe('would be changed: orders: fixedWindow 100 per 1m, for billing (removed: checkout)');
    expect(done.out).toMatch(/, for billing \(removed: checkout\)$/);
    expect(await limiterOf('checkout').consume('a')).toMatchObject({ outcome: 'unconfigured' });
  });

  it.each([
    [['--remove-app', 'shop'], '--remove-app shop: orders is for checkout'],
    [['--remove-app', 'checkout'], 'put needs --app'],
    [['--app', 'checkout', '--remove-app', 'checkout'], '--app and --remove-app both name checkout'],
  ])('changes nothing with %s', async (words, message) => {
    await cli.sluice(...ORDERS);
    const before = await contents(cli.admin);

    const { code, err } = await cli.sluice(...ORDERS.slice(0, -2), ...words);

    expect(code).not.toBe(0);
    expect(err).toContain(message);
    expect(await contents(cli.admin)).toEqual(before);
  });

  it('prints its result as JSON', async () => {
    expect(await cli.json(...ORDERS)).toEqual({
      name: 'orders',
      change: 'created',
      version: expect.any(Number),
      policy: { algorithm: 'fixedWindow', limit: 100, windowMs: 60_000, align: 'first-hit' },
      apps: ['checkout'],
    });
  });

  it.each([
    ['fixedWindow --limit 5 --window 1h --align clock', 'fixedWindow 5 per 1h, align clock'],
    ['fixedWindow --limit 0 --window 1h', 'fixedWindow 0 per 1h'],
    ['fixedWindow --limit 5 --window 1h --count-denied true', 'fixedWindow 5 per 1h, count denied'],
    ['slidingWindow --limit 5 --window 1500 --precision 500', 'slidingWindow 5 per 1500ms, precision 500ms'],
    ['slidingWindow --limit 5 --window 10s', 'slidingWindow 5 per 10s'],
    ['slidingCounter --limit 5 --window 10s', 'slidingCounter 5 per 10s'],
    ['leakyBucket --limit 5 --window 1s --max-delay 2500', 'leakyBucket 5 per 1s, max delay 2500ms'],
    ['leakyBucket --limit 5 --window 1s --max-delay 0', 'leakyBucket 5 per 1s, max delay 0ms'],
    ['tokenBucket --capacity 20 --refill 10 --every 1s', 'tokenBucket 20, 10 per 1s'],
    [
      'tokenBucket --capacity 20 --refill 10 --every 1d --mode interval --overdraft 5',
      'tokenBucket 20, 10 per 1d, overdraft 5, mode interval',
    ],
  ])('accepts %s', async (text, written) => {
    const { code, out } = await cli.sluice('policy', 'put', 'p', ...text.split(' '), '--app', 'a');

    expect(code).toBe(0);
    expect(out).toMatch(/^created p \(version \d+\): /);
    expect(out.endsWith(`: ${written}, for a`)).toBe(true);
  });

  it('defines the limit that applications use', async () => {
    await cli.sluice(...ORDERS);

    const decision = await limiterOf('checkout').consume('a');

    expect(decision).toMatchObject({ outcome: 'allowed', limit: 100, remaining: 99 });
  });

  it('changes a policy in running applications', async () => {
    await cli.sluice(...ORDERS);
    const limiter = limiterOf('checkout');
    await limiter.consume('a', 10);

    await cli.sluice(...ORDERS.map((word) => (word === '100' ? '50' : word)), '--carry-over', 'reset');

    await until('the limiter has the change', async () => (await limiter.peek('a')).limit === 50);
    expect(await limiter.peek('a')).toMatchObject({ limit: 50, remaining: 50 });
  });

  it('prints in a dry run what would change, and changes nothing', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a');
    const before = await contents(cli.admin);

    const { out } = await cli.sluice(...ORDERS.map((word) => (word === '100' ? '50' : word)), '--dry-run');

    expect(out).toBe('would be changed: orders: fixedWindow 50 per 1m, for checkout');
    expect(await contents(cli.admin)).toEqual(before);
  });

  it.each([
    ['put orders fixedWindow --limit 0.5 --window 1m --app a', 'limit must be a whole number from 0 to'],
    ['put orders fixedWindow --limit 5 --window soon --app a', 'window must be a duration such as'],
    ['put orders fixedWindow --limit 5 --app a', 'window must be a duration such as'],
    ['put orders fixedWindow --capacity 5 --window 1m --app a', 'fixedWindow has no option "capacity"'],
    [
      'put orders fixedWindw --limit 5 --window 1m --app a',
      'there is no policy "fixedWindw"; did you mean fixedWindow?',
    ],
    ['put orders leakyFunnel --limit 5 --app a', 'known: fixedWindow, slidingWindow, slidingCounter, slidingLog'],
    ['put orders fixedWindow --limt 5 --window 1m --app a', "unknown option '--limt'"],
    ['put orders fixedWindow --limit 5 --window 1m', 'put needs --app'],
    ['put 9orders fixedWindow --limit 5 --window 1m --app a', 'must be a letter followed by'],
    ['put orders fixedWindow --limit 5 --window 1m --app a --carry-over all', 'Allowed choices are keep, reset'],
    ['put orders', "missing required argument 'kind'"],
  ])('rejects: %s', async (line, expected) => {
    const { code, out, err } = await cli.sluice('policy', ...line.split(' '));

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(expected);
    expect(err).not.toMatch(/^ *at /m);
    expect(await contents(cli.admin)).toEqual([]);
  });
});

describe('policy list', () => {
  it('prints all policies, by name', async () => {
    await cli.sluice(
      'policy',
      'put',
      'search',
      ...'tokenBucket --capacity 20 --refill 10 --every 1s --app web'.split(' '),
    );
    await cli.sluice(...ORDERS, '--app', 'billing');

    const { code, out } = await cli.sluice('policy', 'list');

    expect(code).toBe(0);
    expect(cellsOf(out).map((cells) => cells.slice(0, 3))).toEqual([
      ['NAME', 'POLICY', 'APPS'],
      ['orders', 'fixedWindow 100 per 1m', 'billing, checkout'],
      ['search', 'tokenBucket 20, 10 per 1s', 'web'],
    ]);
    expect(cellsOf(out)[1]?.[4]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('prints the result of the library as JSON', async () => {
    await cli.sluice(...ORDERS);
    const policies = createPolicies(cli.admin, { prefix: 'sluice' });

    expect(await cli.json('policy', 'list')).toEqual(JSON.parse(JSON.stringify(await policies.list())));
    await policies.close();
  });

  it('prints that there is none', async () => {
    expect(await cli.sluice('policy', 'list')).toEqual({ code: 0, out: 'no policies under sluice:policies', err: '' });
    expect(await cli.json('policy', 'list')).toEqual([]);
  });

  it('lists those under another prefix with --prefix', async () => {
    await cli.sluice(...ORDERS, '--prefix', 'sluice:shop');

    expect(await cli.json('policy', 'list')).toEqual([]);
    expect(await cli.json('policy', 'list', '--prefix', 'sluice:shop')).toMatchObject([{ name: 'orders' }]);
  });
});

describe('policy get', () => {
  it('prints one', async () => {
    await cli.sluice(...ORDERS);

    expect(cellsOf((await cli.sluice('policy', 'get', 'orders')).out)[1]?.slice(0, 3)).toEqual([
      'orders',
      'fixedWindow 100 per 1m',
      'checkout',
    ]);
    expect(await cli.json('policy', 'get', 'orders')).toMatchObject({ name: 'orders', apps: ['checkout'] });
  });

  it('fails for one that does not exist, and names those that do', async () => {
    const first = await cli.sluice('policy', 'get', 'order');
    await cli.sluice(...ORDERS);
    const second = await cli.sluice('policy', 'get', 'order');

    expect(first).toEqual({ code: 1, out: '', err: 'sluice: there is no policy order; none is defined' });
    expect(second).toEqual({ code: 1, out: '', err: 'sluice: there is no policy order; there are: orders' });
  });
});

describe('policy remove', () => {
  it('removes one, once', async () => {
    await cli.sluice(...ORDERS);

    const first = await cli.sluice('policy', 'remove', 'orders');
    const second = await cli.sluice('policy', 'remove', 'orders');

    expect(first).toEqual({ code: 0, out: 'removed orders', err: '' });
    expect(second).toEqual({ code: 1, out: '', err: 'sluice: there is no policy orders; none is defined' });
    expect(await limiterOf('checkout').consume('a')).toMatchObject({ outcome: 'unconfigured' });
  });

  it('prints JSON, or exits with a failure when there was none', async () => {
    await cli.sluice(...ORDERS);

    expect(await cli.json('policy', 'remove', 'orders')).toEqual({ name: 'orders', removed: true });
    expect(await cli.sluice('policy', 'remove', 'orders', '--json')).toMatchObject({ code: 1, out: '' });
  });

  it('keeps what keys have used, unless --state is given', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a', 30);

    await cli.sluice('policy', 'remove', 'orders');
    await cli.sluice(...ORDERS);
    const kept = await limiterOf('checkout').peek('a');
    const { out } = await cli.sluice('policy', 'remove', 'orders', '--state');
    await cli.sluice(...ORDERS);
    const forgotten = await limiterOf('checkout').peek('a');

    expect(out).toBe('removed orders; what keys have used of it is forgotten');
    expect([kept.remaining, forgotten.remaining]).toEqual([70, 100]);
  });
});

describe('inspect of a key under a managed policy', () => {
  const inspected = async (key: string): Promise<KeyReport> =>
    ((await cli.json('inspect', key)) as { keys: readonly [KeyReport] }).keys[0];

  it('finds the policy', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a', 30);

    const { out } = await cli.sluice('inspect', 'a');

    expect(cellsOf(out)[2]?.slice(0, 6)).toEqual(['(managed)', 'orders', 'fixedWindow 100 per 1m', '30', '100', '70']);
    expect(await inspected('a')).toMatchObject({
      limiter: null,
      policies: [{ name: 'orders', remaining: 70 }],
    });
  });

  it('shows the state under a changed policy before the next request', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a', 30);
    await cli.sluice(...ORDERS.map((word) => (word === '100' ? '50' : word)));
    const before = await cli.admin.get((await cli.admin.keys('*:orders:*'))[0] ?? '');

    expect(await inspected('a')).toMatchObject({ policies: [{ used: 30, limit: 50, remaining: 20 }] });
    expect(await cli.admin.get((await cli.admin.keys('*:orders:*'))[0] ?? '')).toBe(before);
  });

  it('prints the end of a block', async () => {
    await cli.sluice(...ORDERS);
    const limiter = limiterOf('checkout');
    await limiter.consume('a', 30);
    await limiter.block('a', '1h');

    const { blockedUntilMs, policies } = await inspected('a');

    expect(blockedUntilMs).toBeGreaterThan(0);
    expect(policies).toMatchObject([{ used: 30, remaining: 0 }]);
  });

  it('reports a removed policy', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a');
    await cli.sluice('policy', 'remove', 'orders');

    expect(await inspected('a')).toMatchObject({ policies: [], problem: 'the managed policy orders was removed' });
  });

  it('reports a policy that is missing or unreadable', async () => {
    await cli.sluice(...ORDERS);
    await limiterOf('checkout').consume('a');

    await cli.admin.hset('sluice:policies', 'orders', 'rubbish');
    const broken = await inspected('a');
    await cli.admin.del('sluice:policies');
    const gone = await inspected('a');

    expect(broken.problem).toBe('the managed policy orders cannot be used: it is no record of a policy');
    expect(gone.problem).toBe('there is no managed policy orders');
  });
});

import { userInfo } from 'node:os';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, silenceWarnings, type Limiter } from '@sluice/core';
import { createPolicies, managed } from '@sluice/core/managed';
import { shareRecord, type PageRecord } from '@sluice/page/spi';
import { connectTo, findTimeline } from '@sluice/core/spi';
import { until, useClosing } from '@sluice/testkit';
import { useCli } from './sluice.ts';

silenceWarnings('SLUICE_POLICY_UNCONFIGURED');
const cli = useCli();
const closing = useClosing();
beforeEach(async () => {
  await cli.admin.flushall();
});
const put = (...rest: readonly string[]): ReturnType<typeof cli.sluice> => {
  const limit = rest.includes('--limit') ? [] : ['--limit', '5'];
  return cli.sluice('policy', 'put', 'orders', 'fixedWindow', '--window', '1m', ...limit, ...rest);
};

const WHO = ['--by', 'ann', '--reason', 'sale'];
const override = (verb: string, ...rest: readonly string[]): ReturnType<typeof cli.sluice> =>
  cli.sluice('policy', 'override', verb, 'orders', ...rest);
const set = (...rest: readonly string[]): ReturnType<typeof cli.sluice> =>
  override('set', 'fixedWindow', '--limit', '50', '--window', '1m', ...rest);

function ordersLimiter(): Limiter {
  const store = redisStore(cli.admin, { prefix: 'sluice' });
  const policies = closing(createPolicies(store));
  const options = { policy: managed('orders'), app: 'checkout', store, policies, onStoreError: 'throw' as const };
  return closing(createLimiter({ ...options, timeoutMs: 60_000 }));
}

describe('policy put', () => {
  it('creates a policy, leaves it unchanged, and changes it: in running applications too', async () => {
    const limiter = ordersLimiter();

    const created = await put('--app', 'checkout', '--by', 'ann', '--reason', 'launch');
    await until('the limiter follows', async () => (await limiter.peek('a')).limit === 5);
    const unchanged = await put();
    const changed = await put('--limit', '8');
    const found = await cli.sluice('policy', 'get', 'orders', '--json');
    await until('the limiter follows', async () => (await limiter.peek('a')).limit === 8);

    expect(JSON.parse(found.out)).toMatchObject({ by: userInfo().username, reason: null });
    expect([created.out, unchanged.out, changed.out]).toEqual([
      'created orders: fixedWindow 5 per 1m, for checkout',
      'unchanged orders: fixedWindow 5 per 1m, for checkout',
      'changed orders: fixedWindow 8 per 1m, for checkout',
    ]);
  });

  it('is for all applications, unless some are named, which are kept', async () => {
    expect((await put()).out).toMatch(/for all applications$/);
    expect((await put('--app', 'web', '--app', 'api')).out).toMatch(/for api, web$/);
    expect((await put('--limit', '7')).out).toMatch(/for api, web$/);
    expect((await put('--app', 'api')).out).toMatch(/for api$/);
  });

  it('says when clients start again, and which overrides go', async () => {
    await put();
    await set('--key', 'ann', ...WHO);

    const { out } = await cli.sluice('policy', 'put', 'orders', 'slidingWindow', '--limit', '5', '--window', '1m');

    expect(out.split('\n').slice(1)).toEqual([
      'all clients start again',
      'removed the overrides of the previous kind: ann',
    ]);
    expect((await put('--reset')).out).toContain('all clients start again');
  });

  it.each([
    [['orders', 'fixedwindow', '--limit', '5'], 'there is no policy "fixedwindow"; known: fixedWindow, slidingWindow'],
    [['orders', 'fixedWindow', '--limit', '5'], 'window must be a duration such as'],
    [
      ['orders', 'fixedWindow', '--limit', '5', '--window', '1m', '--refill', '2'],
      'fixedWindow has no option "refill"',
    ],
    [['orders', 'fixedWindow', '--limit', '5.5', '--window', '1m'], 'limit must be a whole number'],
    [['or ders', 'fixedWindow', '--limit', '5', '--window', '1m'], 'name must be'],
    [['orders', 'fixedWindow', '--wimdow', '1m'], "unknown option '--wimdow'"],
  ])('rejects %j', async (args, message) => {
    const { code, out, err } = await cli.sluice('policy', 'put', ...args);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
    expect(await cli.admin.dbsize()).toBe(0);
  });
});

describe('policy list, get and remove', () => {
  it('list what Redis has lost, and the processes that still have it; events tell how long', async () => {
    await put();
    const record = { host: 'web-1', sinceMs: 0, deniedByMinute: [], keys: [] };
    const connection = connectTo(cli.admin, 'sluice', 'test');
    for (const pid of [1, 2]) await shareRecord(connection, { ...record, pid, lost: ['mail'] });

    const { out } = await cli.sluice('policy', 'list');
    const [atMs, numbers] = [Date.now(), { before: '2 records', after: 'written back' }];
    const timeline = findTimeline(redisStore(cli.admin, { prefix: 'sluice' }));
    await timeline.add({ ...numbers, atMs, endAtMs: atMs + 13, what: 'lost', limit: 'mail' });
    const events = await cli.sluice('events', '--limit', 'mail');

    expect(events.out).toMatch(/ lost +mail +- +for 13ms: 2 records -> written back +- +-$/);
    expect(out).toMatch(/\nlost from Redis: mail, still in process \d on web-1, \d on web-1: put it again$/);
  });

  it('print what the library returns, and fail for one that does not exist', async () => {
    await put('--app', 'web', '--by', 'ann', '--reason', 'launch');

    const list = await cli.sluice('policy', 'list');
    const get = await cli.json('policy', 'get', 'orders');
    const other = await cli.sluice('policy', 'get', 'basket');
    const removed = await cli.sluice('policy', 'remove', 'orders');
    const twice = await cli.sluice('policy', 'remove', 'orders');

    expect(list.out).toMatch(/^NAME +POLICY +APPS +CHANGED\norders +fixedWindow 5 per 1m +web +\S+Z by ann: launch$/);
    expect(get).toMatchObject({ name: 'orders', policy: { limit: 5 }, apps: ['web'], by: 'ann' });
    expect([other.code, other.err]).toEqual([1, 'sluice: there is no policy basket; there are: orders']);
    expect(removed.out).toBe('removed orders');
    expect([twice.code, twice.err]).toEqual([1, 'sluice: there is no policy orders; none is defined']);
  });
});

describe('policy override', () => {
  it('sets, lists and removes other numbers of a key and of those with a prefix, and the timeline tells it', async () => {
    await put('--app', 'checkout');
    const limiter = ordersLimiter();

    const one = await set('--key', 'ann', '--until', '2999-01-01T00:00:00Z', ...WHO);
    const hour = await set('--key', 'bob', '--until', '3600000', ...WHO);
    const some = await set('--key-prefix', 'org-7:', ...WHO);
    await until('the limiter follows', async () => (await limiter.peek('org-7:x')).limit === 50);
    const list = await override('list');
    const removed = await override('remove', '--key', 'ann', ...WHO);

    const numbers = 'fixedWindow 5 per 1m -> fixedWindow 50 per 1m';
    expect(one.out).toBe(`created orders for ann: ${numbers}, until 2999-01-01T00:00:00.000Z (ann: sale)`);
    const untilMs = Date.parse(hour.out.replace(/.*until (\S+) .*/, '$1'));
    expect(Math.round((untilMs - Date.now()) / 600_000)).toBe(6);
    expect(some.out).toBe(`created orders for org-7:*: ${numbers} (ann: sale)`);
    expect(list.out).toMatch(
      /\nann +fixedWindow 50 per 1m +2999-\S+ +ann +sale +\S+Z\nbob .*\norg-7:\* +fixedWindow 50 per 1m +- /,
    );
    expect(removed.out).toBe('removed orders for ann');
    const events = await cli.sluice('events', '--limit', 'orders', '--key', 'ann');
    expect(events.out).toMatch(
      /^AT +WHAT +LIMIT +KEY +CHANGE +BY +REASON\n\S+Z +removeOverride +orders +ann +fixedWindow 50 per 1m -> fixedWindow 5 per 1m +ann +sale\n\S+Z +override +orders +ann +fixedWindow 5 per 1m -> fixedWindow 50 per 1m until 2999-\S+ +ann +sale\n\S+Z +put +orders +- +fixedWindow 5 per 1m for checkout +\S+ +-$/,
    );
  });

  it.each([
    [() => set(...WHO), 2, 'an override needs either --key or --key-prefix'],
    [() => set('--key', 'a'), 2, "required option '--reason <why>' not specified"],
    [() => set('--key', 'a', '--until', 'later', ...WHO), 2, '--until takes a time such as 1h, or an instant such as'],
    [() => set('--key', 'a', '--until', '2001-01-01', ...WHO), 2, 'until must be later than now'],
    [
      () => override('set', 'slidingWindow', '--limit', '5', '--window', '1m', '--key', 'a', ...WHO),
      2,
      'must be a fixedWindow',
    ],
    [() => override('remove', '--key', 'zoe', ...WHO), 1, 'orders has no override for zoe; nothing was changed'],
  ])('rejects what cannot be: %#', async (act, code, message) => {
    await put();

    const ran = await act();

    expect(ran).toEqual({ code, out: '', err: expect.stringContaining(message) });
  });
});

describe('denied --redis', () => {
  it('adds up what all processes have denied that share their counts, as text that is harmless', async () => {
    const connection = connectTo(cli.admin, 'sluice', 'test');
    const key = (name: string, count: number): PageRecord['keys'][number] => ({
      ...{ limiter: 'api', limit: 'api', policy: 'api', key: name, count, denials: [] },
    });
    const denials = [{ atMs: 1_000, count: 1, used: 0, limit: 5, windowMs: 60_000, isBlocked: true }];
    const record = { sinceMs: 0, deniedByMinute: [], lost: [] };
    await shareRecord(connection, { ...record, pid: 1, host: 'web-1', keys: [{ ...key('ann\u202e', 5), denials }] });
    await shareRecord(connection, { ...record, pid: 2, host: 'web-2', keys: [key('bob', 9)] });

    const { code, out } = await cli.sluice('denied', '--redis', cli.url);

    expect(code).toBe(0);
    expect(out).toMatch(/process 1 on web-1, from 1970-01-01T00:00:00.000Z to \S+ ago\n/);
    expect(out).toMatch(/\nKEY +LIMITER +POLICY +DENIALS +LAST DENIED\nbob +api +api +9 +-\n/);
    expect(out).toMatch(/\nann\\u\{202e\} +api +api +5 +1970-01-01T00:00:01.000Z: once, blocked$/);
  });

  it('fails if no process shares its counts', async () => {
    const { code, err } = await cli.sluice('denied', '--redis', cli.url);

    expect(code).toBe(1);
    expect(err).toContain('no process shares its counts under the prefix sluice in this Redis');
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
import { connectTo } from '@sluice/old-core/spi';
import { RedisPages, type PageRecord } from '@sluice/page/spi';
import { useCli } from './sluice.ts';

const cli = useCli();
beforeEach(async () => {
  await cli.admin.flushall();
});

const pages = (prefix = 'sluice'): RedisPages => new RedisPages(connectTo(cli.admin, { prefix }, 'test'));
const recordOf = (pid: number, keys: PageRecord['keys'], beyond = 0): PageRecord => ({
  process: { pid, host: `web-${String(pid)}`, sinceMs: 0 },
  ...{ isHashed: false, sinceMs: 0, oneIn: 1, beyond, keys },
});
const counted = (key: string, count: number, atLeast = count, atMost = count): PageRecord['keys'][number] => ({
  ...{ id: 'x', limiter: 'api', policy: 'api', key, count, atLeast, atMost },
});

describe('sluice denied --redis', () => {
  it('adds up what all processes have denied that share their counts, and names them', async () => {
    await pages().put('a', recordOf(1, [counted('ann', 5), counted('bob', 2)]));
    await pages().put('b', recordOf(2, [counted('bob', 9, 8, 11)], 3));
    await pages().put('b-2', recordOf(2, [counted('bob', 4)])); // a second page in the second process
    await pages('other').put('c', recordOf(3, [counted('eve', 99)]));

    const { code, out } = await cli.sluice('denied', '--redis', cli.url);

    const [first, second, ...rows] = out.split('\n');
    expect(code).toBe(0);
    expect([first, second].sort()).toEqual([
      expect.stringMatching(/^process 1 on web-1, from 1970-01-01T00:00:00.000Z to \d+(ms|s) ago$/),
      expect.stringMatching(/^process 2 on web-2, /),
    ]);
    expect(rows).toEqual([
      expect.stringMatching(/^KEY +LIMITER +POLICY +DENIALS +BOUNDS$/),
      expect.stringMatching(/^bob +api +api +11 +10 to 13$/),
      expect.stringMatching(/^ann +api +api +5 +5 to 8$/),
    ]);
    expect(await cli.json('denied')).toMatchObject({
      processes: [{ pid: 2, ageMs: expect.any(Number) }, { pid: 1 }],
      unreadable: 0,
      keys: [
        { key: 'bob', count: 11, atLeast: 10, atMost: 13 },
        { key: 'ann', count: 5, atLeast: 5, atMost: 8 },
      ],
    });
  });

  it('prints hostile texts as text, and says what it cannot read', async () => {
    await pages().put('a', recordOf(1, [counted('\u001b[2Jx\n<b>\u202e', 5)]));
    await pages().put('b', { ...recordOf(2, []), keys: 'many' } as never);

    const { out } = await cli.sluice('denied', '--redis', cli.url);

    expect(out.split('\n').slice(1)).toEqual([
      '1 record that this version cannot read is left out',
      expect.stringMatching(/^KEY/),
      expect.stringMatching(/^\\u\{1b\}\[2Jx\\u\{a\}<b>\\u\{202e\} +api +api +5 +exact$/),
    ]);
  });

  it('says so when no process shares its counts', async () => {
    const { code, out, err } = await cli.sluice('denied', '--redis', cli.url, '--prefix', 'sluice:shop');

    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      'sluice: no process shares its counts under the prefix sluice:shop in this Redis: a page does with page({ token, share: true }) once its limiters have decided, and the service does by itself; or ask one process with --service URL',
    );
  });

  it('tells which right is missing, where the user may not read under the prefix', async () => {
    const { code, err } = await cli.sluice('denied', '--redis', cli.url, '--prefix', 'shop');

    expect([code, err]).toEqual([1, expect.stringContaining('denies this user a command')]);
  });

  it('asks a service where one is named', async () => {
    const { code, err } = await cli.sluice('denied', '--service', 'http://127.0.0.1:1', '--redis', cli.url);

    expect([code, err]).toEqual([1, expect.stringContaining('cannot use the service at 127.0.0.1:1')]);
  });
});

/** The limiter `api` then has a key, by which the command knows it. */
async function consumeOnce(): Promise<void> {
  const limiter = createLimiter({
    name: 'api',
    policy: fixedWindow({ limit: 2, window: '1h' }),
    store: redisStore(cli.admin, { prefix: 'sluice' }),
    timeoutMs: 60_000,
    onStoreError: 'throw',
  });
  await limiter.consume('ann');
  await limiter.close();
}

describe('what the command changes', () => {
  it('is told to the pages of all processes: who, why and which key', async () => {
    await consumeOnce();
    const edit = ['ann', '--limit', 'api', '--by', 'ops'];

    await cli.sluice('block', ...edit, '--for', '10m', '--reason', 'a flood');
    await cli.sluice('unblock', ...edit);

    const shown = { by: 'ops', target: 'ann of api', isHashed: false, atMs: expect.any(Number) };
    expect((await pages().read()).changes).toEqual([
      { ...shown, action: 'unblock', detail: '', reason: 'no reason given' },
      { ...shown, action: 'block', detail: 'for 10m', reason: 'a flood' },
    ]);
  });

  it('is told with the beginning of a reason, where that is longer than pages read', async () => {
    await consumeOnce();

    const edit = ['ann', '--limit', 'api', '--by', 'ops', '--for', '10m', '--reason', 'x'.repeat(3_000)];
    const { code } = await cli.sluice('block', ...edit);

    expect(code).toBe(0);
    expect((await pages().read()).changes.map(({ reason }) => reason)).toEqual(['x'.repeat(2_048)]);
  });

  it('is told of overrides too, once they are made', async () => {
    await cli.sluice('policy', 'put', 'orders', 'fixedWindow', '--limit', '2', '--window', '1h', '--app', 'shop');
    const target = ['orders', '--key', 'acme', '--by', 'ops'];
    const set = ['policy', 'override', 'set', target[0] as string, 'fixedWindow', ...target.slice(1)];
    await cli.sluice(...set, '--limit', '9', '--window', '1h', '--reason', 'a launch', '--dry-run');
    await cli.sluice(...set, '--limit', '9', '--window', '1h', '--reason', 'a launch');
    await cli.sluice('policy', 'override', 'remove', ...target, '--reason', 'it has ended');

    const shown = { by: 'ops', target: 'acme of orders', isHashed: false, atMs: expect.any(Number) };
    const [few, many] = ['fixedWindow 2 per 1h', 'fixedWindow 9 per 1h'];
    expect((await pages().read()).changes).toEqual([
      { ...shown, action: 'end override', detail: `${many} -> ${few}`, reason: 'it has ended' },
      { ...shown, action: 'set override', detail: `${few} -> ${many}`, reason: 'a launch' },
    ]);
  });
});

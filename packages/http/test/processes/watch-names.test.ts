import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Store } from '@sluice/core';
import { testEnforcer, until, useRedis } from '@sluice/testkit';
import { NameWatch, type WrittenNames } from '@sluice/http/spi';

const redis = useRedis();

const emitWarning = jest.spyOn(process, 'emitWarning');
beforeEach(async () => {
  await redis.admin.flushall();
  emitWarning.mockReset().mockImplementation(() => undefined);
});
const warnings = (): readonly string[] =>
  emitWarning.mock.calls.map(([text, about]) => `${String((about as { code?: string }).code)}: ${String(text)}`);

/** A process with these limits, by a name that no other test gives to one. */
let started = 0;
function start(names: Record<string, string>, store: Store = redisStore(redis.client)) {
  const who = `app.js (process ${String(++started)})`;
  const own = new Map(Object.entries(names));
  return { who, own, store, watch: new NameWatch(store, (): WrittenNames => own, who) };
}

describe('two processes on one Redis', () => {
  it('are both told of a name that has other policies, with both of them, and who has them', async () => {
    const [login, search] = [start({ login: '5 of 15m', api: '9' }), start({ login: '100 of 1m', api: '9' })];
    await login.watch.look();
    await search.watch.look();
    expect(warnings()).toEqual([]);

    await login.watch.look();
    expect(warnings()).toEqual([
      expect.stringContaining(`5 of 15m in ${login.who}, and 100 of 1m in ${search.who}. They share budgets`),
    ]);
    await search.watch.look();
    await search.watch.look();
    expect(warnings()).toEqual([
      expect.stringContaining('SLUICE_LIMITER_NAME_DIFFERS: limits named login have other policies'),
      expect.stringContaining(`100 of 1m in ${search.who}, and 5 of 15m in ${login.who}`),
    ]);
  });

  it('are not told of the same policies, of other names, and of other prefixes', async () => {
    const all = [
      start({ login: '5' }),
      start({ login: '5' }),
      start({ search: '6' }),
      start({ login: '7' }, redisStore(redis.client, { prefix: 'sluice:other' })),
    ];
    for (const { watch } of [...all, ...all, ...all]) await watch.look();

    expect(warnings()).toEqual([]);
  });

  it('are not told of one that has ended: numbers change with a restart', async () => {
    const before = start({ login: '5' });
    await before.watch.look();
    const after = start({ login: '10' });
    for (let i = 0; i < 3; i++) await after.watch.look();

    expect(warnings()).toEqual([]);
  });

  it('are not told while a new file comes to one after the other', async () => {
    const [first, second] = [start({ login: '5' }), start({ login: '5' })];
    for (const { watch } of [first, second]) await watch.look();
    for (const { own, watch } of [first, second]) {
      own.set('login', '6');
      await watch.look();
    }
    for (const { watch } of [first, second]) await watch.look();

    expect(warnings()).toEqual([]);
  });

  it('compare a thousand names, and are told of five', async () => {
    const names = (limit: string) =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`n${String(i)}`, limit]));
    const [one, other] = [start(names('5')), start({ ...names('5'), n450: '6', n999: '6' })];
    for (const { watch } of [one, other, one]) await watch.look();
    expect(warnings().map((text) => /named (\w+)/.exec(text)?.[1])).toEqual(['n450', 'n999']);

    for (const name of one.own.keys()) other.own.set(name, '7');
    for (const { watch } of [other, one, other]) await watch.look();
    expect(warnings()).toHaveLength(2 + 3 + 5);
  });

  it('write names that expire, under the prefix, with the rights of a limiter', async () => {
    await start({ login: '5', ['x'.repeat(300)]: '6' }).watch.look();

    const keys = await redis.admin.keys('*');
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(key).toMatch(/^sluice:names:\{names\}:.{5,30}$/);
      expect(await redis.admin.pttl(key)).toBeGreaterThan(0);
    }
  });

  it.each<[string, () => Store]>([
    ['that is not there', () => redisStore('redis://127.0.0.1:1')],
    ['without these rights', () => redisStore(redis.client, { prefix: 'of-others' })],
    ['in memory', () => memoryStore()],
  ])('have no error of a store %s', async (_what, store) => {
    const given = store();

    await expect(start({ login: '5' }, given).watch.look()).resolves.toBeUndefined();
    expect(warnings()).toEqual([]);
    await given.close?.();
  });
});

describe('an adapter', () => {
  it('looks ten seconds after its start, and sends nothing before the first decision', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const store = redisStore(redis.client);
    const decide = testEnforcer({ name: 'login', limit: 5, window: '15m', store, timeoutMs: 60_000 });
    const other = createLimiter({ name: 'search', policy: fixedWindow({ limit: 9, window: '1m' }), store });
    const looks = (): readonly (() => void)[] => timers.mock.calls.flatMap(([run, ms]) => (ms === 10_000 ? [run] : []));
    expect(looks()).toHaveLength(1);

    looks()[0]?.();
    await until('the next look is planned', () => looks().length > 1);
    expect(await redis.admin.keys('*')).toEqual([]);

    await decide();
    looks()[1]?.();
    await until('the names are there', async () => (await redis.admin.keys('sluice:names:*')).length === 2);
    expect(await redis.admin.get('sluice:names:{names}:login')).toMatch(
      /^\S+ \(process \d+.*, since .*\)\n\[\{.*"limit":5.*\}\]$/,
    );
    await other.close();
    timers.mockRestore();
  });
});

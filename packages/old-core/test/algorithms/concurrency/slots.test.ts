import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingWindow,
  type Acquisition,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/old-core';
import { fakeClock, useRedis, virtualRedisStore, type FakeClock } from '@sluice/testkit';
import { START_MS } from '../../traces/step.ts';

const redis = useRedis();
let clock: FakeClock;
beforeEach(async () => {
  clock = fakeClock(START_MS);
  await redis.admin.flushall();
});

const TTL = 10_000;
const KEY = 'sluice:{key}:slots:2c';
const SET = `${KEY}:c1`;
const two = concurrency({ limit: 2, ttl: TTL });
const strict = { name: 'slots', onStoreError: 'throw', timeoutMs: 60_000 } as const;

const stores: readonly { where: string; store: () => Store }[] = [
  { where: 'in memory', store: () => memoryStore({ clock }) },
  { where: 'in Redis', store: () => virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0) },
];

const acquireAll = async (limiter: Limiter, count: number): Promise<Acquisition[]> => {
  const all = [];
  for (let i = 0; i < count; i++) all.push(await limiter.acquire('key'));
  return all;
};
const allowed = (all: readonly Acquisition[]): boolean[] => all.map(({ decision }) => decision.allowed);

describe.each(stores)('slots $where', ({ store }) => {
  const limiterOf = (policy: Policy | readonly Policy[] = two): Limiter =>
    createLimiter({ ...strict, policy, store: store() });

  it('are held by as many as there are, and by the next one when one is released', async () => {
    const limiter = limiterOf();
    const [first, ...others] = await acquireAll(limiter, 3);
    await first?.release();

    const next = await limiter.acquire('key');

    expect(allowed(others)).toEqual([true, false]);
    expect(next.decision).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('are released once, whichever acquisition holds them by then', async () => {
    const limiter = limiterOf();
    const [first] = (await acquireAll(limiter, 2)) as [Acquisition];
    await first.release();
    await limiter.acquire('key');

    await first.release();

    expect((await limiter.peek('key', 0)).remaining).toBe(0);
  });

  it('of a denied acquisition release none', async () => {
    const limiter = limiterOf();
    const [, , denied] = await acquireAll(limiter, 3);

    await denied?.release();

    expect(await denied?.renew()).toBe(false);
    expect((await limiter.peek('key', 0)).remaining).toBe(0);
  });

  it('are taken once by one holder, however often it asks', async () => {
    const limiter = limiterOf();
    const all = [];
    for (let i = 0; i < 5; i++) all.push(await limiter.acquire('key', { holder: 'job-1' }));

    expect(allowed(all)).toEqual([true, true, true, true, true]);
    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    for (const i of [3, 0, 4, 2]) await all[i]?.release();
    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    await all[1]?.release();
    expect((await limiter.peek('key', 0)).remaining).toBe(2);
  });

  it('of a holder stay its own when there is no other left', async () => {
    const limiter = limiterOf();
    await limiter.acquire('key', { holder: 'job-1' });
    await limiter.acquire('key', { holder: 'job-2' });

    const again = await limiter.acquire('key', { holder: 'job-1' });

    expect(again.decision.allowed).toBe(true);
    expect((await limiter.acquire('key', { holder: 'job-3' })).decision.allowed).toBe(false);
  });

  it('of several units are held and released together', async () => {
    const limiter = limiterOf(concurrency({ limit: 5, ttl: TTL }));
    const held = await limiter.acquire('key', { cost: 4 });

    const tooMany = await limiter.acquire('key', { cost: 2 });
    await held.release();

    expect(tooMany.decision).toMatchObject({ allowed: false, remaining: 1 });
    expect((await limiter.peek('key', 0)).remaining).toBe(5);
  });

  it('of a holder that has crashed are free after their ttl, and at no earlier millisecond', async () => {
    const limiter = limiterOf();
    await acquireAll(limiter, 2);

    clock.atMs += TTL - 1;
    const early = await limiter.acquire('key');
    clock.atMs += 1;

    expect(early.decision).toMatchObject({ allowed: false, retryAfterMs: 1 });
    expect(allowed(await acquireAll(limiter, 3))).toEqual([true, true, false]);
  });

  it('that are renewed are held for a ttl from then', async () => {
    const limiter = limiterOf();
    const [first] = (await acquireAll(limiter, 2)) as [Acquisition];
    clock.atMs += TTL - 1;
    expect(await first.renew()).toBe(true);
    clock.atMs += 1;

    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    clock.atMs += TTL - 2;
    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    clock.atMs += 1;
    expect((await limiter.peek('key', 0)).remaining).toBe(2);
  });

  it('that are lost cannot be renewed, and their release frees no others', async () => {
    const limiter = limiterOf();
    const lost = await acquireAll(limiter, 2);
    clock.atMs += TTL;
    await acquireAll(limiter, 2);

    for (const one of lost) {
      expect(await one.renew()).toBe(false);
      await one.release();
    }

    expect((await limiter.peek('key', 0)).remaining).toBe(0);
  });

  it('outlive no reset', async () => {
    const limiter = limiterOf();
    const [first] = (await acquireAll(limiter, 2)) as [Acquisition];
    await limiter.reset('key');

    expect(await first.renew()).toBe(false);
    expect(allowed(await acquireAll(limiter, 3))).toEqual([true, true, false]);
  });

  it('and units of a window are taken together or not at all', async () => {
    const rate = slidingWindow({ name: 'rate', limit: 3, window: '1h' });
    const limiter = limiterOf([rate, concurrency({ name: 'running', limit: 2, ttl: TTL })]);
    const left = async (): Promise<number[]> =>
      (await limiter.peek('key', 0)).policies.map(({ remaining }) => remaining);

    const [first, second] = (await acquireAll(limiter, 3)) as [Acquisition, Acquisition];
    const withoutSlot = await left();
    await first.release();
    await second.release();
    const last = (await acquireAll(limiter, 2)) as [Acquisition, Acquisition];
    const withoutUnit = await left();
    await last[0].release();

    expect(withoutSlot).toEqual([1, 0]); // the third one had no slot, and took no unit
    expect(allowed(last)).toEqual([true, false]);
    expect(withoutUnit).toEqual([0, 1]); // the last one had no unit, and took no slot
    expect(await left()).toEqual([0, 2]); // what was used of the window stays used
  });

  it('under keys of their own are held all or none', async () => {
    const limiter = createLimiter({
      ...strict,
      store: store(),
      limits: [
        { name: 'per-user', policy: two },
        { name: 'in-all', policy: concurrency({ limit: 3, ttl: TTL }) },
      ],
    });
    const held = [];
    for (const user of ['ann', 'ann', 'ann', 'bob', 'cid'])
      held.push(await limiter.acquire({ 'per-user': user, 'in-all': 'all' }));

    expect(allowed(held)).toEqual([true, true, false, true, false]);
    expect((await limiter.peek({ 'per-user': 'cid' }, 0)).remaining).toBe(2);
    for (const one of held) await one.release();
    expect((await limiter.peek({ 'in-all': 'all' }, 0)).remaining).toBe(3);
  });
});

describe('in Redis', () => {
  const limiterOf = (policy: Policy = two): Limiter =>
    createLimiter({ ...strict, policy, store: virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0) });
  const bytes = async (): Promise<unknown[]> =>
    Promise.all([KEY, SET].flatMap((key) => [redis.admin.dumpBuffer(key), redis.admin.pexpiretime(key)]));

  it('the set holds a member per slot that is held, with its expiry, and expires with the value', async () => {
    const limiter = limiterOf(concurrency({ limit: 3, ttl: TTL }));
    const [first] = (await acquireAll(limiter, 1)) as [Acquisition];
    clock.atMs += 100;
    const [, third] = (await acquireAll(limiter, 2)) as [Acquisition, Acquisition];
    await first.release();
    clock.atMs += 50;
    await third.renew();

    const members = await redis.admin.zrange(SET, '0', '-1', 'WITHSCORES');
    expect(members.filter((_, i) => i % 2 === 1).map(Number)).toEqual([START_MS + 100 + TTL, START_MS + 150 + TTL]);
    expect(members.filter((_, i) => i % 2 === 0).every((member) => member.endsWith(':1'))).toBe(true);
    expect(await redis.admin.pexpiretime(SET)).toBe(await redis.admin.pexpiretime(KEY));
  });

  it('both keys are gone when nothing is held', async () => {
    for (const one of await acquireAll(limiterOf(), 3)) await one.release();

    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('a denial leaves no byte, and no other expiry', async () => {
    const limiter = limiterOf();
    await acquireAll(limiter, 2);
    const before = await bytes();
    clock.atMs += 100;

    await acquireAll(limiter, 3);
    await limiter.acquire('key', { cost: 3 });

    expect(await bytes()).toEqual(before);
  });

  it('all that were held count until the last of them has expired, when the set is gone', async () => {
    const limiter = limiterOf(concurrency({ limit: 3, ttl: TTL }));
    const [first] = (await acquireAll(limiter, 1)) as [Acquisition];
    clock.atMs += 100;
    await limiter.acquire('key');
    await redis.admin.del(SET);

    const renewed = await first.renew();
    await first.release();
    const taken = await acquireAll(limiter, 2);
    clock.atMs += TTL - 1;
    const early = await limiter.peek('key', 0);
    clock.atMs += 1;

    expect(renewed).toBe(false);
    expect(allowed(taken)).toEqual([true, false]);
    expect(early.remaining).toBe(0);
    expect((await limiter.peek('key', 0)).remaining).toBe(3);
  });

  it('slots are not given again when the value is gone', async () => {
    const limiter = limiterOf();
    const [old] = (await acquireAll(limiter, 2)) as [Acquisition];
    await redis.admin.del(KEY);

    const taken = await acquireAll(limiter, 3);
    await old.release();

    expect(allowed(taken)).toEqual([false, false, false]);
    expect(await redis.admin.zcard(SET)).toBe(1);
    expect((await limiter.peek('key')).remaining).toBe(1);
  });

  it('something else under the key of the set is an error, and is left alone', async () => {
    await redis.admin.set(SET, 'mine');

    await expect(limiterOf().acquire('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN' });

    expect(await redis.admin.get(SET)).toBe('mine');
  });
});

describe('a limiter without slots', () => {
  it('has nothing to acquire', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1m' }) });

    await expect(limiter.acquire('key')).rejects.toMatchObject({ code: 'SLUICE_ACQUIRE_NOT_NEEDED' });
  });
});

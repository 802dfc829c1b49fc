import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, type Limiter } from '@sluice/core';
import { LimiterCore, readWants } from '@sluice/core/spi';
import { FakeStore, useFakeTime } from '../guard/fake-store.ts';

const TTL_MS = 60_000;
const policy = concurrency({ limit: 1, ttl: TTL_MS });

const { pass } = useFakeTime();
const isFree = async (limiter: Limiter): Promise<boolean> => (await limiter.peek('imports')).allowed;

describe('acquire', () => {
  it('holds a slot, and takes a unit of every other policy, until it is released; nothing if it is denied', async () => {
    const calls = fixedWindow({ name: 'calls', limit: 5, window: '1h' });
    const limiter = createLimiter({ policy: [concurrency({ name: 'slots', limit: 1, ttl: TTL_MS }), calls] });

    const { decision, release } = await limiter.acquire('imports');
    const denied = await limiter.acquire('imports');
    await denied.release();
    const isHeld = [await denied.renew(), await isFree(limiter)];
    await release();

    expect(decision.policies.map(({ used, unit }) => [used, unit])).toEqual([
      [1, 'concurrent-requests'],
      [1, undefined],
    ]);
    expect(denied.decision).toMatchObject({ allowed: false, policy: 'slots' });
    expect(isHeld).toEqual([false, false]);
    expect((await limiter.peek('imports', 0)).policies.map(({ used }) => used)).toEqual([0, 1]);
  });
});

describe('a release', () => {
  it('is repeated until the store is back', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store, denialCache: false });
    const { release } = await limiter.acquire('imports');
    store.behaviour = 'fails';
    await release();

    store.behaviour = 'answers';
    await pass(2_000);

    expect(await isFree(limiter)).toBe(true);
  });

  it('of a local decision is made in the fallback', async () => {
    const store = new FakeStore('fails');
    const limiter = createLimiter({ policy, store, denialCache: false });
    const { decision, release, renew } = await limiter.acquire('imports');
    const isHeld = await renew();
    const before = await isFree(limiter);

    await release();

    expect([decision.source, isHeld, before, await isFree(limiter)]).toEqual(['local', true, false, true]);
  });
});

describe('a slot that a renewal whose answer came late still holds', () => {
  it('is free once it is released, although a ttl has passed without an answer', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store, timeoutMs: 50, denialCache: false });
    const { release, renew } = await limiter.acquire('imports');
    store.behaviour = 'hangs';
    await pass(TTL_MS - 1_000);
    const renewed = renew().catch(({ code }: Error & { code: string }) => code);
    await pass(50);
    store.behaviour = 'answers';
    await pass(2_000);
    const before = await isFree(limiter);

    await release();

    expect([await renewed, before, await isFree(limiter)]).toEqual(['SLUICE_STORE_TIMEOUT', false, true]);
  });
});

describe('an acquire whose answer is lost', () => {
  it.each([
    ['releases the slot: no other process could', false],
    ['leaves the slot to a named holder, who may have had it before and retries', true],
  ])('%s', async (_what, isNamed) => {
    const store = new FakeStore();
    const core = new LimiterCore({ store, onStoreError: 'throw', timeoutMs: 50, denialCache: false });
    core.limits = core.limitFor(policy);
    core.claim();
    const wants = readWants(core.limits, 'imports', 1).map((want) => ({ ...want, holder: 7, isNamed }));
    store.behaviour = 'hangs';
    const attempt = Promise.resolve(core.decide('take', wants)).catch((error: unknown) => error);

    await pass(200);
    store.behaviour = 'answers';
    await pass(2_000);

    expect(await attempt).toMatchObject({ code: 'SLUICE_STORE_TIMEOUT' });
    expect(await isFree(core)).toBe(!isNamed);
  });
});

describe('a slot that is held while its limiter is closed', () => {
  it('can be renewed and released: the store is open for as long as that takes', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store, denialCache: false });
    const { release, renew } = await limiter.acquire('imports');

    await limiter.close();
    expect(await renew()).toBe(true);
    await release();

    expect(store.calls).toEqual(['take', 'close', 'renew', 'close', 'give', 'close']);
    expect(await renew()).toBe(false);
  });
});

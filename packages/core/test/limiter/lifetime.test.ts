import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, memoryStore, type Decision, type Limiter } from '@sluice/core';
import { FakeStore } from '../guard/fake-store.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const policy = fixedWindow({ limit: 5, window: '1m' });
const TAKEN = expect.objectContaining({ code: 'SLUICE_LIMITER_NAME_TAKEN', field: 'name' });

describe('a limiter’s name', () => {
  it('is taken for a second limiter on the same store, without regard to case', () => {
    const store = memoryStore();
    createLimiter({ name: 'api', policy, store });

    expect(() => createLimiter({ name: 'api', policy, store })).toThrow(TAKEN);
    expect(() => createLimiter({ name: 'API', policy, store })).toThrow(
      /already has a limiter named "api", got "API"; give this one another name or, to share the counts, give both the same name and shared: true/,
    );
  });

  it.each([
    ['when only the first says so', { shared: true }, {}],
    ['when only the second says so', {}, { shared: true }],
    ['if it is written differently: the keys would not be the same', { shared: true }, { shared: true, name: 'API' }],
  ])('is not shared %s', (_what, one, other) => {
    const store = memoryStore();
    createLimiter({ name: 'api', policy, store, ...one });

    expect(() => createLimiter({ name: 'api', policy, store, ...other })).toThrow(TAKEN);
  });

  it('is free again when its limiter is closed, or dropped and never closed', async () => {
    const store = memoryStore();
    await createLimiter({ name: 'api', policy, store }).close();
    createLimiter({ name: 'api', policy, store });
    await new Promise(setImmediate);
    collectGarbage();

    expect(createLimiter({ name: 'api', policy, store }).name).toBe('api');
  });
});

describe('a limiter that is closed', () => {
  it('settles what is in flight first', async () => {
    const store = new FakeStore({ afterMs: 1 });
    const limiter = createLimiter({ policy, store, timeoutMs: 60_000 });
    const decision = limiter.consume('key');
    const order: string[] = [];

    const closed = limiter.close().then(() => order.push('closed'));
    void decision.then(() => order.push('decided'));
    await Promise.all([closed, decision]);

    expect(order).toEqual(['decided', 'closed']);
  });

  it.each([['consume'], ['peek'], ['refund'], ['charge', 1], ['reset'], ['block', '1s'], ['unblock']] as const)(
    'denies %s',
    async (method, ...more) => {
      const limiter = createLimiter({ policy });
      await limiter.close();

      const call = (limiter[method] as (...args: unknown[]) => Promise<unknown>).bind(limiter);

      await expect(call('key', ...more)).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
    },
  );

  it('closes its store, once, when no other limiter uses it', async () => {
    const store = new FakeStore();
    const one = createLimiter({ name: 'one', policy, store });
    const other = createLimiter({ name: 'other', policy, store });

    await one.close();
    expect(store.calls).toEqual([]);
    await other.close();
    await other.close();
    expect(store.calls).toEqual(['close']);
  });
});

describe('closing', () => {
  it.each<[string, (limiter: Limiter, decision: Decision) => Promise<unknown>]>([
    ['a reset', (limiter) => limiter.reset('ann')],
    ['a refund', (limiter, decision) => limiter.refund(decision)],
  ])('waits for %s that has just begun', async (_what, edit) => {
    const store = new FakeStore({ afterMs: 1 });
    const limiter = createLimiter({ policy, store });
    const decision = await limiter.consume('ann');

    const edited = edit(limiter, decision);
    await Promise.all([limiter.close(), edited]);

    expect(store.calls.at(-1)).toBe('close');
    expect(store.calls.filter((op) => op !== 'peek')).toHaveLength(3); // a peek tells the timeline what was before
  });

  it.each([
    ['units', policy],
    ['a slot', concurrency({ limit: 1, ttl: '1h' })],
  ])('gives back %s that a call has just taken', async (_what, taken) => {
    const store = new FakeStore();
    const shared = { policy: taken, store, shared: true, denialCache: false };
    const [here, there] = [createLimiter(shared), createLimiter(shared)];
    store.behaviour = { afterMs: 1 };
    const running = here.run('k', () => 'ran');
    const closed = here.close();

    await expect(running).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
    await closed;

    expect((await there.peek('k')).used).toBe(0);
  });
});

const REQUESTS = 10_000;

/** How many bytes each of many requests leaves behind. */
async function bytesAfter(request: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < 1_000; i++) await request();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < REQUESTS; i++) await request();
  collectGarbage();
  return (process.memoryUsage().heapUsed - before) / REQUESTS;
}

describe('a request that has ended leaves nothing behind', () => {
  it('in the slots of an earlier one that is still held', async () => {
    const limiter = createLimiter({ policy: concurrency({ limit: 10, ttl: '1h' }) });
    const held = await limiter.acquire('feed');

    expect(await bytesAfter(async () => (await limiter.acquire('feed')).release())).toBeLessThan(50);
    await held.release();
  });

  it('in a signal that many share', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1_000_000, window: '1h' }) });
    const { signal } = new AbortController();

    expect(await bytesAfter(async () => limiter.run('feed', () => undefined, { signal }))).toBeLessThan(40);
  });
});

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, leakyBucket, memoryStore, type DecisionMessage } from '@sluice/core';
import { expectWarnings } from '@sluice/testkit';
import { schedule } from '../../src/limiter/schedule.ts';
import { FakeStore, useFakeTime } from '../guard/fake-store.ts';

const policy = fixedWindow({ limit: 2, window: '1s' });

expectWarnings('SLUICE_STORE_AWAY');
const { pass } = useFakeTime();

/** What became of a promise so far: `waits`, its value, or the code of its error. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  const told = promise.then(
    (value) => value,
    (error: unknown) => (error as { code?: string }).code ?? (error as Error).message,
  );
  return Promise.race([told, pass(0).then(() => 'waits')]);
}

describe('wait', () => {
  it('rejects with SLUICE_WAIT_TIMEOUT after maxWaitMs, and takes nothing', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('k', 2);
    const waiting = limiter.wait('k', { maxWaitMs: 300 }).catch((error: unknown) => error);

    await pass(299);
    expect(await stateOf(waiting)).toBe('waits');
    await pass(1);

    const message = expect.stringContaining('300 ms') as unknown;
    expect(await waiting).toMatchObject({ code: 'SLUICE_WAIT_TIMEOUT', message });
    await pass(1000);
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  it('asks once with a maxWaitMs of 0', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store });

    const first = await limiter.wait('k', { cost: 2, maxWaitMs: 0 });
    await expect(limiter.wait('k', { maxWaitMs: 0 })).rejects.toMatchObject({ code: 'SLUICE_WAIT_TIMEOUT' });

    expect(first.allowed).toBe(true);
    expect(store.calls).toEqual(['try', 'try']);
  });

  it('rejects with SLUICE_WAIT_TIMEOUT where the delay would end after maxWaitMs, and gives the position back', async () => {
    const limiter = createLimiter({ policy: leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' }) });
    await limiter.wait('k', { cost: 5 });

    await expect(limiter.wait('k', { maxWaitMs: 400 })).rejects.toMatchObject({ code: 'SLUICE_WAIT_TIMEOUT' });

    expect((await limiter.peek('k')).delayMs).toBe(500);
  });

  it('rejects with SLUICE_WAIT_FULL where maxWaiters wait', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('k', 2);
    const waiting = [limiter.wait('k', { maxWaiters: 2 }), limiter.wait('k', { maxWaiters: 2 })];

    await expect(limiter.wait('k', { maxWaiters: 2 })).rejects.toMatchObject({ code: 'SLUICE_WAIT_FULL' });
    expect(await stateOf(limiter.wait('other', { maxWaiters: 2 }))).toMatchObject({ allowed: true });

    await pass(1000);
    expect(await Promise.all(waiting)).toHaveLength(2);
  });

  it('rejects with SLUICE_NEVER_FITS what is above the limit, and lets those behind it go on', async () => {
    const limiter = createLimiter({ policy });
    const tooMuch = limiter.wait('k', { cost: 3 });
    const behind = limiter.wait('k');

    await expect(tooMuch).rejects.toMatchObject({
      code: 'SLUICE_NEVER_FITS',
      message: expect.stringContaining('a cost of 3 never fits the policy "default"'),
    });
    expect(await behind).toMatchObject({ allowed: true });
  });

  it('rejects with the reason of its signal, before and during the wait', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('k', 2);
    const reason = new Error('the client has left');
    const abort = new AbortController();
    const waiting = limiter.wait('k', { signal: abort.signal });

    abort.abort(reason);

    await expect(waiting).rejects.toBe(reason);
    await expect(limiter.wait('k', { signal: abort.signal })).rejects.toBe(reason);
    await pass(1000);
    expect((await limiter.peek('k')).remaining).toBe(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gives back what the store took for a request that was aborted during the call', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store });
    const abort = new AbortController();
    const asked = limiter.wait('k', { cost: 2, signal: abort.signal });
    abort.abort(new Error('left'));
    const behind = limiter.wait('k', { cost: 2 });

    await expect(asked).rejects.toThrow('left');
    expect(await behind).toMatchObject({ allowed: true, remaining: 0 });
  });

  it.each(['refund', 'reset', 'unblock'] as const)('goes on at once after a %s of this process', async (op) => {
    const limiter = createLimiter({ policy });
    const decision = await limiter.consume('k', 2);
    if (op === 'unblock') await limiter.block('k', '1h', { reset: true });
    const waiting = limiter.wait('k');

    if (op === 'refund') await limiter.refund(decision, 1);
    else await limiter[op]('k');

    expect(await stateOf(waiting)).toMatchObject({ allowed: true });
  });

  it('makes no call while nothing can have changed, and none for more than fit where each is a call', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy: fixedWindow({ limit: 100, window: '1s' }), store, denialCache: false });
    const waiting = Array.from({ length: 200 }, async () => limiter.wait('k'));
    await pass(999);
    const before = store.calls.length;
    await pass(1);

    expect(await Promise.all(waiting)).toHaveLength(200);
    expect(before).toBeLessThanOrEqual(110);
    expect(store.calls.length).toBeLessThanOrEqual(220);
  });

  it('serves different costs in their order, where two policies have different units left', async () => {
    const burst = fixedWindow({ name: 'burst', limit: 10, window: '10s' });
    const day = fixedWindow({ name: 'day', limit: 1000, window: '1d' });
    const store = memoryStore();
    const limiter = createLimiter({ name: 'one', policy: [day, burst], store, shared: true });
    await createLimiter({ name: 'one', policy: [day], store, shared: true }).charge('k', 940);
    const waiting = [6, 5, 1].map(async (cost) => limiter.wait('k', { cost }));
    await waiting[0];
    await pass(10_000);

    expect((await Promise.all(waiting)).map(({ cost }) => cost)).toEqual([6, 5, 1]);
  });

  it('rejects what waits when the limiter closes, asks for none of it, and gives back what is delayed', async () => {
    const store = new FakeStore();
    const paces = leakyBucket({ limit: 10, window: '1s', maxDelay: '200ms' });
    const limiter = createLimiter({ name: 'one', policy: paces, store });
    createLimiter({ name: 'other', policy, store }); // holds the store open
    await limiter.wait('k', { cost: 1 });
    const results = Promise.allSettled([2, 2, 1].map((cost) => limiter.wait('k', { cost })));
    await pass(0);
    const before = store.calls.length;

    await limiter.close();

    expect(await results).toEqual(
      Array(3).fill(expect.objectContaining({ reason: expect.objectContaining({ code: 'SLUICE_LIMITER_CLOSED' }) })),
    );
    await expect(limiter.wait('k')).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
    expect(store.calls.slice(before)).toEqual(['give']);
    expect((await createLimiter({ name: 'one', policy: paces, store }).peek('k')).delayMs).toBe(100);
  });

  it('asks a store that does not decide again, until it does', async () => {
    const store = new FakeStore('fails');
    const limiter = createLimiter({ policy, store, onStoreError: 'deny' });
    const waiting = limiter.wait('k');
    await pass(3000);
    const whileAway = await stateOf(waiting);

    store.behaviour = 'answers';
    await pass(2000);

    expect(whileAway).toBe('waits');
    expect(await stateOf(waiting)).toMatchObject({ outcome: 'allowed' });
  });

  it('publishes what is allowed, and no denial of a request that goes on waiting', async () => {
    const limiter = createLimiter({ name: 'published', policy });
    const heard: DecisionMessage[] = [];
    const listener = (message: unknown): void => void heard.push(message as DecisionMessage);
    subscribe('sluice:decision', listener);
    const waiting = [1, 2, 3].map(async () => limiter.wait('k'));
    await pass(1000);
    await Promise.all(waiting);
    unsubscribe('sluice:decision', listener);

    expect(heard.map(({ decision, durationMs }) => [decision.allowed, Math.round(durationMs)])).toEqual([
      [true, 0],
      [true, 0],
      [true, 1000],
    ]);
  });
});

describe('calls that overtake each other', () => {
  it('do not start a paced request before an earlier one', async () => {
    const inner = memoryStore();
    let calls = 0;
    const perform = async (...asked: Parameters<typeof inner.perform>) => {
      await new Promise((resolve) => setTimeout(resolve, ++calls === 2 ? 20 : 0)); // the second call is decided after the third
      return inner.perform(...asked);
    };
    const paces = leakyBucket({ limit: 20, window: '1s', maxDelay: '10s' });
    const limiter = createLimiter({ policy: paces, store: { source: 'postgres', perform }, timeoutMs: 5000 });
    const started: number[] = [];

    const all = Promise.all([1, 2, 3, 4].map(async (i) => limiter.wait('k').then(() => started.push(i))));
    await pass(1000);
    await all;

    expect(started).toEqual([1, 2, 3, 4]);
  });
});

describe('a wait', () => {
  it('ends although another one began under fake timers that are gone', async () => {
    schedule(performance.now() + 1_000, () => undefined);
    jest.useRealTimers();
    jest.useFakeTimers();
    const run = jest.fn();

    schedule(performance.now() + 2_000, run);
    await pass(2_000);

    expect(run).toHaveBeenCalledTimes(1);
  });

  it('is called back after it has begun, although this process stalled meanwhile', async () => {
    const run = jest.fn();

    schedule(performance.now() - 1, run);
    expect(run).not.toHaveBeenCalled();
    await pass(1);

    expect(run).toHaveBeenCalledTimes(1);
  });

  it('is not behind that for other keys, whatever they contain', async () => {
    const limits = [
      { name: 'a', policy: fixedWindow({ limit: 1, window: '1h' }) },
      { name: 'b', policy: fixedWindow({ limit: 5, window: '1h' }) },
    ] as const;
    const limiter = createLimiter({ limits });
    await limiter.consume({ a: 'x b y' });
    const blocked = limiter.wait({ a: 'x b y' }).catch((error: unknown) => error);

    expect(await limiter.wait({ a: 'x', b: 'y' })).toMatchObject({ allowed: true });
    await limiter.close();
    expect(await blocked).toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });
});

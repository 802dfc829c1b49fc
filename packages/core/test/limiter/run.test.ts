import { describe, expect, it, jest } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, memoryStore } from '@sluice/core';
import { FakeStore, useFakeTime } from '../guard/fake-store.ts';

const TTL_MS = 3_000;
const policy = concurrency({ limit: 1, ttl: TTL_MS });

const { pass } = useFakeTime();

/** A function that runs until it is told to end. */
function work() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const made = {
    signal: undefined as AbortSignal | undefined,
    fn: async ({ signal }: { signal: AbortSignal }): Promise<string> => {
      made.signal = signal;
      await ended;
      return 'done';
    },
    end,
  };
  return made;
}

const fail = (): never => {
  throw new Error('broken');
};

describe('run', () => {
  it('calls the function with the decision, and resolves as it does', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1s' }) });

    expect(await limiter.run('k', ({ decision }) => decision.remaining)).toBe(0);
    const second = limiter.run('k', async () => Promise.resolve('second'));
    await pass(1000);

    expect(await second).toBe('second');
  });

  it.each([
    ['throws', fail],
    ['rejects', async () => Promise.reject(new Error('broken'))],
  ])('releases the slot when the function %s', async (_how, fn) => {
    const limiter = createLimiter({ policy });

    await expect(limiter.run('k', fn)).rejects.toThrow('broken');

    expect((await limiter.peek('k')).allowed).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('holds and renews the slot for as long as the function runs, and then calls the next one at once', async () => {
    const limiter = createLimiter({ policy });
    const [long, next] = [work(), work()];
    const running = limiter.run('k', long.fn);
    const waiting = limiter.run('k', next.fn);
    await pass(TTL_MS * 5);

    expect([long.signal?.aborted, next.signal]).toEqual([false, undefined]);
    long.end();
    await running;
    await pass(0);
    expect(next.signal).toBeDefined();
    next.end();
    expect(await waiting).toBe('done');
  });

  it('aborts the signal of the function when its slot is lost', async () => {
    const limiter = createLimiter({ policy });
    const long = work();
    const running = limiter.run('k', long.fn);
    await pass(0);

    await limiter.reset('k');
    await pass(TTL_MS / 3);

    expect(long.signal?.reason).toMatchObject({ code: 'SLUICE_SLOT_LOST' });
    long.end();
    expect(await running).toBe('done');
  });

  it('aborts the signal of the function when renewals fail until the ttl ends', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store });
    const long = work();
    const running = limiter.run('k', long.fn);
    await pass(0);
    store.behaviour = 'fails';
    await pass(TTL_MS - 1);
    const before = long.signal?.aborted;
    await pass(TTL_MS / 3 + 1);

    expect(before).toBe(false);
    expect(long.signal?.reason).toMatchObject({ code: 'SLUICE_SLOT_LOST' });
    long.end();
    await running;
  });

  it('holds no slot that no store has given: its function is not aborted for one', async () => {
    const store = new FakeStore('fails');
    const limiter = createLimiter({ policy, store, onStoreError: 'allow' });
    const long = work();
    const running = limiter.run('k', long.fn);
    await pass(0);
    store.behaviour = 'answers';
    await pass(TTL_MS * 2);

    expect(long.signal?.aborted).toBe(false);
    long.end();
    expect(await running).toBe('done');
  });

  it('does not call the function of a wait that was aborted, timed out, or closed', async () => {
    const limiter = createLimiter({ policy });
    const long = work();
    const running = limiter.run('k', long.fn);
    const fn = jest.fn(() => 'called');
    const abort = new AbortController();
    const waiting = [{ signal: abort.signal }, { maxWaitMs: 100 }, {}].map((options) => limiter.run('k', fn, options));
    const results = Promise.allSettled(waiting);

    abort.abort(new Error('left'));
    await pass(100);
    await limiter.close();
    long.end();
    await running;

    expect(await results).toMatchObject([
      { reason: { message: 'left' } },
      { reason: { code: 'SLUICE_WAIT_TIMEOUT' } },
      { reason: { code: 'SLUICE_LIMITER_CLOSED' } },
    ]);
    expect(fn).not.toHaveBeenCalled();
  });

  it('sees within 250 ms a slot that another process has released', async () => {
    const store = memoryStore();
    const shared = { name: 'jobs', shared: true, policy, denialCache: false } as const;
    const [here, there] = [
      createLimiter({ ...shared, store: new FakeStore('answers', store) }),
      createLimiter({ ...shared, store }),
    ];
    const { release } = await there.acquire('k');
    const fn = jest.fn(() => 'called');
    const running = here.run('k', fn);
    await pass(1_000);
    const before = fn.mock.calls.length;

    await release();
    await pass(250);

    expect(before).toBe(0);
    expect(fn).toHaveBeenCalledTimes(1);
    await running;
  });
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Store,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';

/** A store whose calls may overtake each other, as those of a pool of connections do. */
function storeWith(perform: (request: StoreRequest, now: () => StoreAnswers) => Promise<StoreAnswers>): Store {
  const inner = memoryStore();
  return {
    source: 'remote',
    perform: async (requests) => perform(requests[0] as StoreRequest, () => inner.perform(requests)),
  };
}

const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  Promise.race([
    promise.then(
      () => 'allowed',
      (error: unknown) => (error as { code?: string }).code ?? error,
    ),
    sleep(1000, 'waits'),
  ]);

describe('a wait that begins while the limiter closes', () => {
  it('is rejected, although its key has a request that the store is still asked about', async () => {
    const store = storeWith(async (_request, now) => sleep(100).then(now));
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }), store, timeoutMs: 5000 });
    const asked = codeOf(limiter.wait('k'));
    const closed = limiter.close();
    const late = codeOf(limiter.wait('k'));

    expect([await asked, await late]).toEqual(['SLUICE_LIMITER_CLOSED', 'SLUICE_LIMITER_CLOSED']);
    await closed;
    expect(await codeOf(limiter.wait('k'))).toBe('SLUICE_LIMITER_CLOSED');
  });
});

describe('a wait whose signal has aborted before', () => {
  it('keeps nothing of its key', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }) });
    const signal = AbortSignal.abort('left');
    const reject = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) await expect(limiter.wait(`key-${String(i)}`, { signal })).rejects.toBe('left');
    };
    await reject(0, 1000);
    gc();
    const before = process.memoryUsage().heapUsed;

    await reject(1000, 6000);

    gc();
    expect((process.memoryUsage().heapUsed - before) / 5000).toBeLessThan(300); // bytes a key
    await limiter.close();
  });
});

describe('calls that overtake each other', () => {
  it('do not start a paced request before an earlier one', async () => {
    let calls = 0;
    const store = storeWith(async (_request, now) => {
      await sleep(++calls === 2 ? 20 : 0); // the second call is decided after the third
      return now();
    });
    const limiter = createLimiter({
      policy: leakyBucket({ limit: 20, window: '1s', maxDelay: '10s' }),
      store,
      timeoutMs: 5000,
    });
    const started: number[] = [];

    await Promise.all([1, 2, 3, 4].map(async (i) => limiter.wait('k').then(() => started.push(i))));

    expect(started).toEqual([1, 2, 3, 4]);
    await limiter.close();
  });

  it('do not free the slot of a run by the release of an attempt that was given back', async () => {
    const asked = { consume: 0, release: 0 };
    const store = storeWith(async (request, now) => {
      if (request.op === 'consume' && ++asked.consume === 2) throw new Error('lost');
      // The first one is of what was lost, the second one gives back what the third request has got ahead of it.
      if (request.op === 'release' && ++asked.release === 2) await sleep(150);
      await sleep(0);
      return now();
    });
    const limiter = createLimiter({
      policy: concurrency({ limit: 3, ttl: '1m' }),
      store: { ...store, breaker: false },
      onStoreError: 'deny',
      timeoutMs: 5000,
    });
    let running = 0;
    let most = 0;

    await Promise.all(
      [1, 2, 3, 4, 5].map(async () =>
        limiter.run('k', async () => {
          most = Math.max(most, ++running);
          await sleep(400);
          running--;
        }),
      ),
    );

    expect(most).toBeLessThanOrEqual(3);
    await limiter.close();
  });
});

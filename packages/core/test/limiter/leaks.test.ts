import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow } from '@sluice/core';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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

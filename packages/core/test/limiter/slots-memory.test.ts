import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { concurrency, createLimiter } from '@sluice/core';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const REQUESTS = 10_000;

it('slots that were released leave nothing behind while an earlier one is held', async () => {
  const limiter = createLimiter({ policy: concurrency({ limit: 10, ttl: '1h' }) });
  const held = await limiter.acquire('feed');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;

  for (let i = 0; i < REQUESTS; i++) await (await limiter.acquire('feed')).release();

  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / REQUESTS).toBeLessThan(100);
  await held.release();
});

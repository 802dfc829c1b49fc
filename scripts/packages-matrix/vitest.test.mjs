import { expect, test } from 'vitest';
import { createLimiter, fixedWindow, rateLimit } from '@sluice/express';

test('a limiter works under Vitest', async () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });
  expect((await limiter.consume('a')).allowed).toBe(true);
  expect((await limiter.consume('a')).allowed).toBe(false);
  expect(rateLimit({ limiter }).limiter).toBe(limiter);
});

import * as runner from 'vitest';
import { expect, test } from 'vitest';
import { memoryStore } from '@sluice/core';
import { createLimiter, fixedWindow, rateLimit } from '@sluice/express';
import { describeStore } from '@sluice/core/testing';

test('a limiter works under Vitest', async () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });
  expect((await limiter.consume('a')).allowed).toBe(true);
  expect((await limiter.consume('a')).allowed).toBe(false);
  expect(rateLimit({ limiter }).limiter).toBe(limiter);
});

describeStore('in memory', (clock) => memoryStore({ clock }), runner);

const runner = require('@jest/globals');
const { createLimiter, fixedWindow, memoryStore, rateLimit } = require('@sluice/express');
const { describeStore } = require('@sluice/core/testing');

const { expect, test } = runner;

test('a limiter works under Jest', async () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });
  expect((await limiter.consume('a')).allowed).toBe(true);
  expect((await limiter.consume('a')).allowed).toBe(false);
  expect(rateLimit({ limiter }).limiter).toBe(limiter);
});

describeStore('in memory', (clock) => memoryStore({ clock }), runner);

import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Store } from '@sluice/core';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();

const policy = fixedWindow({ limit: 10, window: '1h' });

/** Keeps this process from its timers and sockets. */
const stall = (ms: number): void => {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
};

describe('the deadline of a decision', () => {
  it('is not missed by an answer that waits in the socket while this process is busy', async () => {
    const store = redisStore(redis.client);
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 60_000, onStoreError: 'throw' });
    await patient.consume('key'); // the script is there now
    const limiter = createLimiter({ policy, store, timeoutMs: 20 });

    const decision = limiter.consume('key');
    await new Promise(setImmediate); // sent
    stall(200);

    expect((await decision).source).toBe('redis');
  });

  it('keeps no process alive', async () => {
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const store: Store = { source: 'redis', perform: () => new Promise(() => undefined) };
    const decision = createLimiter({ policy, store, timeoutMs: 50 }).consume('key');

    const during = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    expect((await decision).source).toBe('local');

    expect(during).toBe(before);
  });
});

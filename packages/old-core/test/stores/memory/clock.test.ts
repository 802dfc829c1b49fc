import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, systemClock } from '@sluice/old-core';

const policy = fixedWindow({ limit: 1, window: '1m' });

describe('the clock of a memory store', () => {
  it('may be an object, such as Date', async () => {
    const { atMs } = await createLimiter({ policy, store: memoryStore({ clock: Date }) }).consume('key');

    expect(Math.abs(Date.now() - atMs)).toBeLessThan(60_000);
  });

  it('may be a function, and its fractions are floored', async () => {
    const { atMs } = await createLimiter({ policy, store: memoryStore({ clock: () => 1_234.9 }) }).consume('key');

    expect(atMs).toBe(1_234);
  });

  it('is monotonic by default, and tells milliseconds since 1970', () => {
    const before = systemClock.now();

    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(Date.now() - before)).toBeLessThan(60_000);
  });

  it.each([[Number.NaN], [Infinity], [undefined as unknown as number]])(
    'that tells %p is an error of the store, and nothing is decided',
    async (now) => {
      const limiter = createLimiter({ policy, store: memoryStore({ clock: () => now }) });

      await expect(limiter.consume('key')).rejects.toMatchObject({ name: 'StoreError', code: 'SLUICE_STORE_FAILED' });
    },
  );
});

import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';
import { fakeClock } from '@sluice/old-testing';

describe('a fake clock', () => {
  it('drives what is decided by the time, forwards and back', async () => {
    const clock = fakeClock(1_000);
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      store: memoryStore({ clock }),
    });
    await limiter.consume('k');

    clock.advance(59_999);
    expect((await limiter.consume('k')).retryAfterMs).toBe(1);
    clock.atMs = 1_000;
    expect((await limiter.peek('k')).retryAfterMs).toBe(60_000);
    clock.atMs += 60_000;
    expect((await limiter.consume('k')).allowed).toBe(true);
    await limiter.close();
  });

  it.each(['1m', Number.NaN, undefined, new Date(0)])('takes no %p', (given) => {
    const clock = fakeClock();
    const before = clock.atMs;

    const message = /takes a number of milliseconds, such as 60_000/;
    expect(() => {
      clock.advance(given as never);
    }).toThrow(message);
    expect(() => {
      clock.atMs = given as never;
    }).toThrow(message);
    if (given !== undefined) expect(() => fakeClock(given as never)).toThrow(message);
    expect(clock.now()).toBe(before);
  });
});

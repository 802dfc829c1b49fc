import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '../../src/testing/index.ts';

describe('a fake clock', () => {
  it('moves on, and back, when a test moves it', () => {
    const clock = fakeClock(1_000);

    clock.advance(59_999.5);
    expect(clock.now()).toBe(60_999.5);
    clock.advance(-60_000);
    expect(clock.atMs).toBe(999.5);
    clock.atMs = 5;
    expect(clock.now()).toBe(5);
  });

  it.each(['1m', Number.NaN, Infinity, new Date(0), null])('takes no %p', (given) => {
    const clock = fakeClock();
    const before = clock.atMs;
    const message = /takes a number of milliseconds, such as 60_000/;

    expect(() => {
      clock.advance(given as never);
    }).toThrow(message);
    expect(() => {
      clock.atMs = given as never;
    }).toThrow(message);
    expect(() => fakeClock(given as never)).toThrow(message);
    expect(clock.now()).toBe(before);
  });
});

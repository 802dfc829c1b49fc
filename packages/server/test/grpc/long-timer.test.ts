import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startTimer } from '../../src/grpc/long-timer.ts';

describe('a timer', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it.each([1, 1_000, 2 ** 31 - 1, 2 ** 31, 100 * 86_400_000])('of %d ms ends then, once', (ms) => {
    const ended = jest.fn();
    startTimer(ms, ended);
    jest.advanceTimersByTime(ms - 1);
    expect(ended).not.toHaveBeenCalled();

    jest.advanceTimersByTime(1);
    jest.advanceTimersByTime(ms);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it.each([1_000, 100 * 86_400_000])('of %d ms that is stopped does not end', (ms) => {
    const ended = jest.fn();
    const stop = startTimer(ms, ended);
    jest.advanceTimersByTime(ms - 1);
    stop();
    jest.advanceTimersByTime(ms);
    expect(ended).not.toHaveBeenCalled();
  });
});

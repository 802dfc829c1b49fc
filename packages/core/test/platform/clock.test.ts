import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { makeLocalClock } from '../../src/platform.ts';

describe('the clock of the memory store', () => {
  let dateMs = 0;
  let monotonicMs = 0;
  beforeEach(() => {
    [dateMs, monotonicMs] = [performance.timeOrigin, 0];
    jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(dateMs));
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  const pass = (ms: number): void => {
    dateMs += ms;
    monotonicMs += ms;
  };

  it.each([0, 3_600_000, -3_600_000])(
    'tells whole milliseconds since 1970, as time passes, and does not follow a step of the system clock: %i ms',
    (stepMs) => {
      const clock = makeLocalClock();
      const startMs = clock.now();
      expect(startMs).toBe(Math.floor(performance.timeOrigin));

      dateMs += stepMs;
      expect(clock.now() - startMs).toBe(0);
      pass(5);
      expect(clock.now() - startMs).toBe(5);
      pass(3_600_000);

      expect(clock.now() - startMs).toBe(3_600_005);
    },
  );
});

import { afterEach, beforeEach, jest } from '@jest/globals';
import type { Answer, Ask, Op, Store } from '../../src/stores/store.ts';

/** What a test store does with a call. */
type Behaviour =
  | 'answers'
  | 'fails'
  | 'hangs'
  | { readonly answersAfterMs: number }
  | { readonly failsWith: Error; readonly afterMs?: number };

/** A store that behaves as it is told, and remembers what it was asked. */
export class FakeStore implements Store {
  readonly source = 'redis';
  readonly asked: { readonly op: Op; readonly keys: readonly string[]; readonly endMs: number | undefined }[] = [];
  behaviour: Behaviour;

  constructor(behaviour: Behaviour = 'answers') {
    this.behaviour = behaviour;
  }

  perform(op: Op, asks: readonly Ask[], endMs?: number): Promise<Answer> {
    this.asked.push({ op, keys: asks.map(({ key }) => key), endMs });
    const { behaviour } = this;
    const answer: Answer = { atMs: 0, figures: asks.map(() => [1, 9, 1, 0, 1000, 1000, 0, 0]) };
    if (behaviour === 'answers') return Promise.resolve(answer);
    if (behaviour === 'fails') return Promise.reject(new Error('away'));
    if (behaviour === 'hangs') return new Promise(() => undefined);
    if ('failsWith' in behaviour) {
      const { failsWith, afterMs = 0 } = behaviour;
      if (afterMs === 0) return Promise.reject(failsWith);
      return new Promise((_resolve, reject) => setTimeout(reject, afterMs, failsWith));
    }
    return new Promise((resolve) => setTimeout(resolve, behaviour.answersAfterMs, answer));
  }

  /** The calls that no probe made. */
  get calls(): number {
    return this.asked.length - this.probes;
  }

  get probes(): number {
    return this.asked.filter(({ keys }) => keys[0]?.endsWith(':-probe')).length;
  }
}

/** Fakes all timers and `performance`. */
export function useFakeTime(): { pass(ms: number): Promise<void>; stall(ms: number): void } {
  let stalledMs = 0;
  beforeEach(() => {
    jest.useFakeTimers();
    const now = performance.now.bind(performance);
    stalledMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + stalledMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });
  return {
    /** Lets time pass, and what happens then. */
    async pass(ms) {
      await jest.advanceTimersByTimeAsync(ms);
    },
    /** Time passes while this process runs nothing. */
    stall(ms) {
      stalledMs += ms;
    },
  };
}

export const ASKS: readonly Ask[] = [
  {
    key: '{ann}:api',
    policy: { algorithm: 'fixedWindow', limit: 10, windowMs: 3_600_000, align: 'first-hit' },
    cost: 1,
  },
];

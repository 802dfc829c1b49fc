import { afterEach, beforeEach, jest } from '@jest/globals';
import { memoryStore, type Answer, type Ask, type Op, type Store } from '@sluice/core';
import { Guard } from '../../src/guard/guard.ts';

/** What a test store does with a call. One that hangs decides, but its answer is lost. */
type Behaviour = 'answers' | 'fails' | 'hangs' | { readonly failsWith?: Error; readonly afterMs?: number };

/** A store over memory, out of process as far as limiters know: it behaves as it is told, and remembers its calls. */
export class FakeStore implements Store {
  readonly source = 'redis';
  readonly asked: {
    readonly op: Op | 'close';
    readonly keys: readonly string[];
    readonly endMs?: number | undefined;
  }[] = [];
  behaviour: Behaviour;
  readonly #memory: Store;

  constructor(behaviour: Behaviour = 'answers', memory: Store = memoryStore()) {
    this.behaviour = behaviour;
    this.#memory = memory;
  }

  async perform(op: Op, asks: readonly Ask[], endMs?: number): Promise<Answer> {
    this.asked.push({ op, keys: asks.map(({ key }) => key), endMs });
    const behaviour = this.behaviour === 'fails' ? { failsWith: new Error('away') } : this.behaviour;
    if (typeof behaviour === 'object') {
      const { failsWith, afterMs = 0 } = behaviour;
      if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
      if (failsWith !== undefined) throw failsWith;
    }
    const answer = await this.#memory.perform(op, asks);
    return behaviour === 'hangs' ? new Promise(() => undefined) : answer;
  }

  close(): void {
    this.asked.push({ op: 'close', keys: [] });
  }

  /** The calls that no probe made. */
  get calls(): string[] {
    return this.asked.filter((one) => !isProbe(one)).map(({ op }) => op);
  }

  get probes(): number {
    return this.asked.filter(isProbe).length;
  }
}

/** A store with this behaviour, and its guard. */
export function guarded(behaviour?: Behaviour): { readonly store: FakeStore; readonly guard: Guard } {
  const store = new FakeStore(behaviour);
  return { store, guard: new Guard(store) };
}

/** A store that fails, and its guard, whose breaker is open. */
export async function openBreaker(): Promise<ReturnType<typeof guarded>> {
  const made = guarded('fails');
  for (let i = 0; i < 5; i++) {
    await Promise.resolve(made.guard.perform('take', ASKS, performance.now() + 100)).catch(() => undefined);
  }
  return made;
}

const isProbe = ({ keys }: FakeStore['asked'][number]): boolean => keys[0]?.endsWith(':-probe') === true;

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

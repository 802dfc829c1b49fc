import { createLimiter, fixedWindow, type Decision, type Limiter, type Policy, type Store } from '@sluice/old-core';
import { fakeClock, type FakeClock } from '../fake-clock.ts';

/** A store under test. */
export interface StoreFactory {
  /**
   * Makes a store that tells the time by this clock. It is empty, or holds what earlier ones of this run have written:
   * each test has a limiter with a name of its own.
   */
  create(clock: FakeClock): Store;
  /** The `source` in its decisions. */
  readonly source: Decision['source'];
  /** Where the clocks start, in milliseconds since 1970. Default: a fixed day in November 2026. */
  readonly clockAtMs?: number;
  /** Called before the first test. */
  setUp?(): Promise<void>;
  /** Called after the last test. */
  tearDown?(): Promise<void>;
}

/** The options of createLimiter without its policies. */
export interface LimiterOfSuite {
  readonly name: string;
  readonly store: Store;
  readonly onStoreError: 'throw';
  readonly timeoutMs: number;
}

/** The input of the parts of the stores' contract. */
export interface StoreSetup {
  readonly source: Decision['source'];
  /** A limiter of these policies on a new store, with the clock of that store. */
  readonly limiter: (policy: Policy | readonly Policy[]) => { readonly limiter: Limiter; readonly clock: FakeClock };
  /** Limiters that share one name on one new store. */
  readonly sharing: (...policies: readonly Policy[]) => {
    readonly limiters: readonly Limiter[];
    readonly clock: FakeClock;
  };
  /** The options of a limiter on a new store, with a name of its own. */
  readonly open: (clock?: FakeClock) => LimiterOfSuite;
  readonly clock: () => FakeClock;
}

let made = 0;

export function setupOf(factory: StoreFactory): StoreSetup {
  const newClock = (): FakeClock => fakeClock(factory.clockAtMs);
  const open: StoreSetup['open'] = (clock = newClock()) => ({
    name: `contract-${String(made++)}`,
    store: factory.create(clock),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  return {
    source: factory.source,
    clock: newClock,
    open,
    limiter: (policy) => {
      const clock = newClock();
      return { limiter: createLimiter({ ...open(clock), policy }), clock };
    },
    sharing: (...policies) => {
      const clock = newClock();
      const common = { ...open(clock), shared: true };
      return { limiters: policies.map((policy) => createLimiter({ ...common, policy })), clock };
    },
  };
}

export const perMinute = (limit: number): Policy => fixedWindow({ limit, window: '1m' });

/** Takes units or, where a policy holds slots, slots of a new holder. */
export async function take(limiter: Limiter, key: string, cost = 1): Promise<Decision> {
  try {
    return await limiter.consume(key, cost);
  } catch (error) {
    if ((error as { code?: string }).code !== 'SLUICE_ACQUIRE_NEEDED') throw error;
    return (await limiter.acquire(key, { cost })).decision;
  }
}

import type { Redis } from 'ioredis';
import type { Policy } from '../../src/policies/index.ts';
import { USED } from '../../src/program/decide.ts';
import { perform, type Held } from '../../src/stores/perform.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import type { Answer, Ask, Op } from '../../src/stores/store.ts';
import { fakeClock, type FakeClock } from '../../src/testing/fake-clock.ts';

/** Ahead of every server's clock, by which what has expired is forgotten. */
export const START: number = 1_900_000_000_000;

/** A store that the laws are tested on, and the clock that it follows. */
export interface Clocked {
  readonly clock: FakeClock;
  perform(op: Op, asks: readonly Ask[]): Answer | Promise<Answer>;
}

/** Nothing but the program: it keeps every key. */
export class ProgramStore implements Clocked {
  readonly clock: FakeClock = fakeClock(START);
  readonly keys: Map<string, Held> = new Map();

  perform(op: Op, asks: readonly Ask[]): Answer {
    return perform(this.keys, op, asks, this.clock.now());
  }

  /** Asks for the key `one`. */
  ask(op: Op, policy: Policy, cost = 1, more: Partial<Ask> = {}): readonly number[] {
    return this.perform(op, [{ key: 'one', policy, cost, ...more }]).figures[0] ?? [];
  }

  used(policy: Policy): number | undefined {
    return this.ask('peek', policy, 0)[USED];
  }

  /** The numbers that the key `one` holds. */
  get state(): readonly number[] | undefined {
    return this.keys.get('one')?.s;
  }
}

/** A store that is not in this process. */
export interface ClockedRedis extends Clocked {
  perform(op: Op, asks: readonly Ask[]): Promise<Answer>;
}

/** The scripts, with the instant of a fake clock in place of the server's. */
export function clockedRedis(client: Redis): ClockedRedis {
  const clock = fakeClock(START);
  const at = (): string => String(clock.now());
  const store = redisStore(
    {
      evalsha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args, at()),
      eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args, at()),
    },
    { prefix: 'sluice' },
  );
  const uncached = (ask: Ask): Ask => ({ ...ask, uncached: true }); // the cache has a clock of its own
  return { clock, perform: async (op, asks) => store.perform(op, asks.map(uncached)) };
}

export const key = (name: string | number): string => `{${String(name)}}:limiter`;

import { memoryStore, type Store, type StoreRequest } from '@sluice/old-core';
import { evaluate, type KeyState } from '@sluice/old-core/spi';
import { virtualRedisStore, type FakeClock, type RunningRedis } from '@sluice/testkit';

/** An implementation that the laws are tested on. */
export interface Backend {
  readonly name: string;
  /** The number of random scenes to run: see `cases`. */
  readonly runs: number;
  store(clock: FakeClock): Store;
}

/** The kernels alone, as a store that never forgets, evicts or expires. */
export function kernelStore(clock: FakeClock): Store {
  const keys = new Map<string, KeyState>();
  const perform = (request: StoreRequest): ReturnType<typeof evaluate>['answer'] => {
    const parts = 'parts' in request ? request.parts : [request.part];
    const states = parts.map(({ subject, limit }): KeyState => {
      const key = `${subject} ${limit.keySuffix}`;
      const state = keys.get(key) ?? { blockedUntilMs: 0, states: limit.policies.map(() => undefined) };
      keys.set(key, state);
      return state;
    });
    return evaluate(request, states, clock.atMs).answer;
  };
  return { source: 'memory', perform: (requests) => requests.map(perform) };
}

export const kernels: Backend = { name: 'the kernels', runs: 32, store: kernelStore };
export const memory: Backend = { name: 'the memory store', runs: 16, store: (clock) => memoryStore({ clock }) };

export function redisBackend(redis: RunningRedis): Backend {
  return { name: 'Redis', runs: 6, store: (clock) => virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0) };
}

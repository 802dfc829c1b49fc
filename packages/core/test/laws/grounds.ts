import { memoryStore, type Store, type StoreRequest } from '@sluice/core';
import { evaluate, type KeyState } from '@sluice/core/internal';
import { virtualRedisStore, type FakeClock, type RunningRedis } from '@sluice/testkit';

/** Where a law is put to the test. */
export interface Ground {
  readonly name: string;
  /** How many random scenes it is worth. */
  readonly runs: number;
  store(clock: FakeClock): Store;
}

/** The kernels alone, behind the store's port: nothing is forgotten, evicted or expired. */
export function kernelStore(clock: FakeClock): Store {
  const keys = new Map<string, KeyState>();
  const perform = (request: StoreRequest): ReturnType<typeof evaluate>['answer'] => {
    const parts = 'parts' in request ? request.parts : [request.part];
    const states = parts.map(({ subject, limit }): KeyState => {
      const key = `${subject} ${limit.scope}`;
      const state = keys.get(key) ?? { blockedUntilMs: 0, states: limit.policies.map(() => undefined) };
      keys.set(key, state);
      return state;
    });
    return evaluate(request, states, clock.atMs).answer;
  };
  return { source: 'memory', perform: (requests) => requests.map(perform) };
}

export const kernels: Ground = { name: 'the kernels', runs: 250, store: kernelStore };
export const memory: Ground = { name: 'the memory store', runs: 120, store: (clock) => memoryStore({ clock }) };

export function redisGround(redis: RunningRedis): Ground {
  return { name: 'Redis', runs: 25, store: (clock) => virtualRedisStore(redis.client, clock, {}, 0) };
}

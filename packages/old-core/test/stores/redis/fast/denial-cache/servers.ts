import type { Redis } from 'ioredis';
import { evaluate, type KeyState } from '@sluice/old-core/spi';
import type { StoreAnswer, StoreRequest } from '@sluice/old-core';
import { virtualRedisStore } from '@sluice/testkit';

/** Where a limit is kept, in a simulation: it is told the time. */
export interface Server {
  ask(request: StoreRequest, atMs: number): Promise<StoreAnswer>;
}

/** The kernels over a map. What it shows of a key is all of it. */
export function modelServer(): Server {
  const keys = new Map<string, KeyState>();
  return {
    ask(request, atMs) {
      const parts = 'parts' in request ? request.parts : [request.part];
      const held = parts.map(({ subject, limit }) => {
        const name = `${subject} ${limit.keySuffix}`;
        const key = keys.get(name) ?? { blockedUntilMs: 0, states: limit.policies.map(() => undefined) };
        keys.set(name, key);
        return key;
      });
      const { answer } = evaluate(request, held, atMs);
      return Promise.resolve({ ...answer, snapshots: held.map((key) => ({ ...key })) });
    },
  };
}

let servers = 0;

/** A real one, and what its store makes of the replies. */
export function redisServer(client: Redis): Server {
  let nowMs = 0;
  const store = virtualRedisStore(client, { now: () => nowMs }, { prefix: `sluice:d${String(servers++)}` }, 0);
  Object.assign(store, { showsDenied: true }); // those who are told the time usually show nothing
  return {
    async ask(request, atMs) {
      nowMs = atMs;
      const [answer] = await store.perform([request]);
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer');
      return answer;
    },
  };
}

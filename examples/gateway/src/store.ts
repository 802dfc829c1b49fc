import { redisMembership, redisStore, splitStore, type Store } from '@sluice/fastify';

/** Where a gateway counts, and what it has to wait for before it takes requests. */
export interface GatewayStore {
  readonly store: Store;
  readonly ready: () => Promise<unknown>;
}

/** The grace time, a window of a minute, and some more. */
const READY_WITHIN_MS = 70_000;

/** The store of a gateway, by STORE. */
export function createStore(env: NodeJS.ProcessEnv): GatewayStore {
  const { STORE = 'redis', REDIS_URL = 'redis://127.0.0.1:6379', WEIGHT = '1' } = env;
  const prefix = 'sluice:example-gateway';

  if (STORE === 'split') {
    // Redis only knows who is there, by a heartbeat a second. What is counted stays in the memory of each gateway.
    const store = splitStore({ membership: redisMembership(REDIS_URL, { weight: Number(WEIGHT), prefix }) });
    return { store, ready: async () => store.ready(READY_WITHIN_MS) };
  }
  return { store: redisStore(REDIS_URL, { prefix }), ready: async () => Promise.resolve() };
}

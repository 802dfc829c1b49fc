import { redisMembership, splitStore } from '@sluice/core/split';
import { redisStore, type Store } from '@sluice/fastify';

/** The store of a gateway, and what the gateway waits for before it accepts requests. */
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
    // Redis only holds the members, by a heartbeat a second. The counts stay in the memory of each gateway.
    const store = splitStore({ membership: redisMembership(REDIS_URL, { weight: Number(WEIGHT), prefix }) });
    return { store, ready: async () => store.ready(READY_WITHIN_MS) };
  }
  return { store: redisStore(REDIS_URL, { prefix }), ready: async () => Promise.resolve() };
}

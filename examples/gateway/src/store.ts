import { redisStore, type Store } from '@sluice/fastify';

/** Where a gateway counts, and what it has to wait for before it takes requests. */
export interface GatewayStore {
  readonly store: Store;
  readonly ready: () => Promise<unknown>;
}

/** The store of a gateway. */
export function createStore(env: NodeJS.ProcessEnv): GatewayStore {
  const { REDIS_URL = 'redis://127.0.0.1:6379' } = env;
  return {
    store: redisStore(REDIS_URL, { prefix: 'sluice:example-gateway' }),
    ready: async () => Promise.resolve(),
  };
}

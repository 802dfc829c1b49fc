import { createLimiter, fixedWindow, memoryStore, redisStore, slidingWindow } from '@sluice/core';

const WINDOW = '1h';

const algorithms = { fixedWindow, slidingWindow };

/** This many policies with distinct numbers; the first one decides. */
export function policiesOf(limit, count, kind = 'fixedWindow') {
  const others = Array.from({ length: count - 1 }, (_, i) =>
    fixedWindow({ limit: 1e9, window: `${i + 2}h`, name: `other-${i}` }),
  );
  return [algorithms[kind]({ limit, window: WINDOW, name: 'first' }), ...others];
}

/** Common options: errors are thrown, and a pause of the machine causes none. */
const STRICT = { onStoreError: 'throw', timeoutMs: 5_000 };

/** A limiter as in an application. */
export function sluiceOn(store, { limit, policies = 1, kind }) {
  const limiter = createLimiter({ policy: policiesOf(limit, policies, kind), store, ...STRICT });
  return { consume: (key) => limiter.consume(key), denies: ({ allowed }) => !allowed, close: () => limiter.close() };
}

export const inMemory = (options) => sluiceOn(memoryStore({ maxKeys: 2_000_000 }), options);

export const inRedis = (client, options) => sluiceOn(redisStore(client, { prefix: 'sluice' }), options);

import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from '@sluice/core';

const WINDOW = '1h';

/** A policy of each algorithm, for a process that uses several. */
const algorithms = {
  fixedWindow: (limit) => fixedWindow({ limit, window: WINDOW, name: 'first' }),
  slidingWindow: (limit) => slidingWindow({ limit, window: WINDOW, name: 'first' }),
  slidingCounter: (limit) => slidingCounter({ limit, window: WINDOW, name: 'first' }),
  // As many starts as others have units.
  leakyBucket: (limit) =>
    leakyBucket({ limit, window: WINDOW, maxDelay: Math.floor(3_600_000 * (1 - 1 / limit)), name: 'first' }),
  // A bucket's numbers are rejected where they could leave what is exact.
  tokenBucket: (limit) => tokenBucket({ capacity: Math.min(limit, 1e8), refill: 1, every: WINDOW, name: 'first' }),
};

export const fiveAlgorithms = Object.keys(algorithms);

/** This many policies with distinct numbers; the first one decides. */
export function policiesOf(limit, count, kind = 'fixedWindow') {
  const others = Array.from({ length: count - 1 }, (_, i) =>
    fixedWindow({ limit: 1e9, window: `${i + 2}h`, name: `other-${i}` }),
  );
  return [algorithms[kind](limit), ...others];
}

/** Common options: errors are thrown, and a pause of the machine causes none. */
const STRICT = { onStoreError: 'throw', timeoutMs: 5_000 };

/**
 * A limiter as in an application.
 *
 * @returns `unavailable` with the reason when this version has no such option.
 */
export function sluiceOn(store, { limit, policies = 1, kind, lease = false }) {
  try {
    const limiter = createLimiter({
      ...{ policy: policiesOf(limit, policies, kind), store, ...STRICT },
      ...(lease ? { lease: true } : {}),
    });
    return { consume: (key) => limiter.consume(key), denies: ({ allowed }) => !allowed, close: () => limiter.close() };
  } catch (error) {
    if (lease && error.code === 'SLUICE_OPTION_UNKNOWN') return { unavailable: 'this version has no option `lease`' };
    throw error;
  }
}

export const inMemory = (options) => sluiceOn(memoryStore({ maxKeys: 2_000_000 }), options);

/** A limiter of each algorithm in one process, used in turn, so that shared code handles five kinds of numbers. */
export function fiveInMemory(options) {
  const limiters = fiveAlgorithms.map((kind) => inMemory({ ...options, kind }));
  let next = 0;
  return {
    consume: (key) => {
      next = next === 4 ? 0 : next + 1;
      return limiters[next].consume(key);
    },
    denies: limiters[0].denies,
  };
}

export const inRedis = (client, options) => sluiceOn(redisStore(client), options);

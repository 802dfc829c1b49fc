import { createLimiter, fixedWindow, memoryStore, redisStore, slidingWindow, tokenBucket } from '@sluice/core';

const WINDOW = '1h';

/** So many policies that never meet in one number, the first of which is the one that matters. */
export function policiesOf(limit, count, kind = 'fixedWindow') {
  const make = {
    fixedWindow: (of) => fixedWindow({ limit: of, window: WINDOW, name: 'first' }),
    slidingWindow: (of) => slidingWindow({ limit: of, window: WINDOW, name: 'first' }),
    tokenBucket: (of) => tokenBucket({ capacity: of, refill: 1, every: WINDOW, name: 'first' }),
  }[kind];
  // A bucket's numbers are refused where they could leave what is exact.
  const first = kind === 'tokenBucket' ? Math.min(limit, 1e8) : limit;
  const others = Array.from({ length: count - 1 }, (_, i) =>
    fixedWindow({ limit: 1e9, window: `${i + 2}h`, name: `other-${i}` }),
  );
  return [make(first), ...others];
}

/** What limiters of the measurements have in common: errors are errors, and a pause of the machine is none. */
const STRICT = { onStoreError: 'throw', timeoutMs: 5_000 };

/**
 * A limiter as an application has it.
 *
 * @returns `undefined` with the code where this version knows no such option.
 */
export function sluiceOn(store, { limit, policies = 1, kind, lease = false }) {
  try {
    const limiter = createLimiter({
      ...{ policy: policiesOf(limit, policies, kind), store, ...STRICT },
      ...(lease ? { lease: true } : {}),
    });
    return { take: (key) => limiter.consume(key), refuses: ({ allowed }) => !allowed, close: () => limiter.close() };
  } catch (error) {
    if (lease && error.code === 'SLUICE_OPTION_UNKNOWN') return { unavailable: 'this version has no option `lease`' };
    throw error;
  }
}

export const inMemory = (options) => sluiceOn(memoryStore({ maxKeys: 2_000_000 }), options);

export const inRedis = (client, options) => sluiceOn(redisStore(client), options);

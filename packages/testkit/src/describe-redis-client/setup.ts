import { createLimiter, redisStore, type Limiter, type LimiterOptions, type Policy } from '@sluice/core';
import type { AnyClient } from './target.ts';

let made = 0;

/** A limiter of its own keys, which says what failed. Without a breaker: what is tested is the client. */
export function limiterOn(
  client: AnyClient,
  policy: Policy | readonly Policy[],
  options: Partial<LimiterOptions> = {},
): Limiter {
  return createLimiter({
    policy,
    store: redisStore(client, { prefix: `sluice:contract-${String(made++)}`, check: true, breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 60_000,
    ...options,
  } as LimiterOptions);
}

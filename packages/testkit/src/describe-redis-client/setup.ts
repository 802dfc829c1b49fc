import { afterEach } from '@jest/globals';
import { createLimiter, redisStore, type Limiter, type Policy } from '@sluice/old-core';
import type { AnyClient } from './target.ts';

let made = 0;
const open: Limiter[] = [];

/** Closes after every test, of the block that calls this, the limiters that it made. */
export function closeLimiters(): void {
  afterEach(async () => {
    await Promise.all(open.splice(0).map((limiter) => limiter.close()));
  });
}

const prefixes = new WeakMap<Limiter, string>();

/**
 * A limiter of its own keys, or of those of another one, which says what failed. Without a breaker: what is tested is
 * the client.
 */
export function limiterOn(
  client: AnyClient,
  policy: Policy | readonly Policy[],
  timeoutMs = 60_000,
  sameKeysAs?: Limiter,
): Limiter {
  const shared = sameKeysAs === undefined ? undefined : prefixes.get(sameKeysAs);
  const prefix = shared ?? `sluice:contract-${String(made++)}`;
  const store = redisStore(client, { prefix, check: true, breaker: false });
  const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs });
  prefixes.set(limiter, prefix);
  open.push(limiter);
  return limiter;
}

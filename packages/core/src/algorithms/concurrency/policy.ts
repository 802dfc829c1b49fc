import { parseDuration, writtenDuration, type Duration } from '../../values/duration.ts';
import { parseName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import { checkOptions } from '../../values/check-options.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT } from '../written.ts';

/** `limit` slots held at once, each for `ttlMs` at most unless it is renewed. */
export interface ConcurrencyPolicy extends PolicyBase {
  readonly algorithm: 'concurrency';
  readonly limit: number;
  readonly ttlMs: number;
}

export interface ConcurrencyOptions {
  /** Slots held at once: a whole number, at least 1. */
  limit: number;
  /**
   * When the slot of a holder that has crashed frees itself, by the store's clock. A slot that is needed for longer is
   * renewed; adapters do so three times in this time.
   */
  ttl: Duration;
  /** Stands in header fields and keys. Without it the policy takes its limiter's name. */
  name?: string;
}

const OPTIONS = {
  limit: LIMIT,
  ttl: { takes: 'duration', says: 'when the slot of a holder that has crashed frees itself' },
};

/**
 * At most `limit` requests in flight: slots that are held, and neither released nor expired, at every instant of the
 * store's clock. For {@link Limiter.acquire}, and for adapters, which release when the answer ends. `retryAfterMs` of
 * a denial is until the first slots expire, if none is released before.
 *
 * @throws PolicyError naming the field, what was expected and what came.
 */
export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'concurrency');
  return parseConcurrency({
    algorithm: 'concurrency',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    ttlMs: parseDuration(options.ttl, 'ttl'),
  });
}

export const concurrencyFactory: Factory = { make: concurrency, options: OPTIONS };

export function parseConcurrency(policy: ConcurrencyPolicy): ConcurrencyPolicy {
  const { name } = policy;
  return Object.freeze({
    algorithm: 'concurrency',
    ...(name === undefined ? {} : { name: parseName(name, 'name') }),
    limit: parseUnits(policy.limit, 'limit'),
    ttlMs: parseDuration(policy.ttlMs, 'ttlMs'),
  });
}

export function writtenConcurrency({ limit, ttlMs }: ConcurrencyPolicy): string {
  return `concurrency ${String(limit)} for ${writtenDuration(ttlMs)} each`;
}

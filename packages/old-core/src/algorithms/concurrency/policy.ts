import { parseDuration, writtenDuration, type Duration } from '../../values/duration.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT } from '../written.ts';

/** At most `limit` slots at once. A slot expires after `ttlMs` unless it is renewed. */
export interface ConcurrencyPolicy extends PolicyBase {
  readonly algorithm: 'concurrency';
  readonly limit: number;
  readonly ttlMs: number;
}

export interface ConcurrencyOptions {
  /** Slots held at once: a whole number; 0 denies every request. */
  limit: number;
  /**
   * The time after which a slot expires, by the store's clock, if its holder has crashed. Longer holds need renewals;
   * adapters renew three times in this time.
   */
  ttl: Duration;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  ttl: { placeholder: 'duration', description: 'when the slot of a holder that has crashed frees itself' },
};

export function parseConcurrency(policy: ConcurrencyPolicy): ConcurrencyPolicy {
  const { name } = policy;
  return Object.freeze({
    algorithm: 'concurrency',
    ...ownName(name),
    limit: parseUnits(policy.limit, 'limit', 0),
    ttlMs: parseDuration(policy.ttlMs, 'ttlMs'),
  });
}

export function writtenConcurrency({ limit, ttlMs }: ConcurrencyPolicy): string {
  return `concurrency ${String(limit)} for ${writtenDuration(ttlMs)} each`;
}

import { HELD } from '../program/numbers.ts';
import { slots } from '../program/slots.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, type Field, type Options } from '../values/shape.ts';
import { units } from '../values/units.ts';
import { makePolicy, MAX_ENTRIES, NAMED, register } from './rule.ts';
import type { Algorithm, NamedOptions, PolicyBase } from './rule.ts';

/** At most `limit` slots at once. A slot expires after `ttlMs` unless it is renewed. */
export interface ConcurrencyPolicy extends PolicyBase {
  readonly algorithm: 'concurrency';
  readonly limit: number;
  readonly ttlMs: number;
}

const INSTEAD = 'a key remembers every holder: spread the requests over several keys, each with its part of the limit';

const SLOTS = {
  /** Slots held at once: a whole number from 0 to 1000; 0 denies every request. */
  limit: units(0, MAX_ENTRIES, INSTEAD) as Field<number>,
  /**
   * How long a slot lasts without renewal, by the store's clock, in case its holder crashes. Longer requests must renew
   * it; adapters do so every third of this time.
   */
  ttl: duration() as Field<Duration, number>,
};

export interface ConcurrencyOptions extends Options<typeof SLOTS>, NamedOptions {}

/**
 * Allows at most `limit` requests in flight at any time, by the store's clock. A request holds a slot until it releases
 * it or the slot expires. Use it with {@link Limiter.acquire}, or with adapters, which release the slot when the
 * response ends. When denied, `retryAfterMs` is the time until enough slots expire if none is released.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  return makePolicy(algorithm, options);
}

const algorithm: Algorithm<ConcurrencyPolicy> = /* @__PURE__ */ register<ConcurrencyPolicy>(concurrency, {
  name: 'concurrency',
  kind: 'h',
  family: slots,
  shape: [SLOTS, NAMED],
  numbers: ({ limit, ttlMs }) => [limit, 0, HELD, ttlMs],
  windowMs: ({ ttlMs }) => ttlMs,
  describe: ({ limit, ttlMs }) => `concurrency ${String(limit)} for ${writeDuration(ttlMs)} each`,
});

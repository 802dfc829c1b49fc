import { PolicyError, type Limiter } from '@sluice/old-core';
import { isSource, LimiterImpl, liveLimiters, shown, type LimiterCore, type LimitRef } from '@sluice/old-core/spi';

/** A limiter of this process, of whichever copy of core. */
export type LiveLimiter = Pick<LimiterCore, 'decide' | 'edit' | 'limits' | 'name' | 'status' | 'store'>;

/** A limit of a limiter: policies that count the same key. */
export interface KnownLimit {
  readonly core: LiveLimiter;
  readonly limit: LimitRef;
  /** Whether others with this kind of key have other numbers, as plans of customers and rules of descriptors do. */
  readonly isOneOfSeveral: boolean;
}

/** A limiter, or a middleware that has one. */
export type LimiterOption = Limiter<never> | { readonly limiter: Limiter<never> };

/** The limiters of the option `limiters`. Undefined: all of the process. */
export function readLimiters(given: unknown): ReadonlySet<LiveLimiter> | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) {
    throw new PolicyError(
      'limiters',
      `limiters must be a list of limiters, or of what rateLimit() returned, got ${shown(given)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return new Set(given.map((one: unknown, i) => coreOf(one, `limiters[${String(i)}]`)));
}

function coreOf(given: unknown, field: string): LiveLimiter {
  const isHandler = typeof given === 'function' || LimiterImpl.partsOf(given) === undefined;
  const limiter: unknown = isHandler ? (given as { limiter?: unknown } | null)?.limiter : given;
  const parts = LimiterImpl.partsOf(limiter);
  if (parts !== undefined) return parts.core;
  if (typeof (limiter as Partial<Limiter> | null | undefined)?.consume === 'function') {
    throw new PolicyError(
      field,
      `${field} is a limiter of @sluice/core, which the page cannot show yet: it shows the limits of the service alone; leave it out`,
      'SLUICE_OPTION_INVALID',
    );
  }
  throw new PolicyError(
    field,
    `${field} must be a limiter, or what rateLimit() returned, got ${shown(given)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** The limiters that are shown, by name. */
export function coresOf(only: ReadonlySet<LiveLimiter> | undefined): readonly LiveLimiter[] {
  const all = only === undefined ? (liveLimiters() as readonly LiveLimiter[]) : [...only];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Every limit that is shown. A managed policy that several limiters of a store use is one limit. */
export function limitsOf(only: ReadonlySet<LiveLimiter> | undefined): readonly KnownLimit[] {
  const byStore = new Map<object, Map<string, Found>>();
  for (const core of coresOf(only)) {
    const known = byStore.get(core.store) ?? new Map<string, Found>();
    byStore.set(core.store, known);
    for (const limit of core.limits.known) {
      const one = known.get(limit.keySuffix) ?? { core, limit, numbers: new Set<string>() };
      known.set(limit.keySuffix, one);
      one.numbers.add(isSource(limit) ? '' : JSON.stringify(limit.policies.map(({ policy }) => policy)));
    }
  }
  const all = [...byStore.values()].flatMap((known) => [...known.values()]);
  return all.map(({ core, limit, numbers }) => ({ core, limit, isOneOfSeveral: numbers.size > 1 }));
}

interface Found extends Pick<KnownLimit, 'core' | 'limit'> {
  readonly numbers: Set<string>;
}

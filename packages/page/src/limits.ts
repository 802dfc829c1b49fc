import { PolicyError, type Limiter } from '@sluice/core';
import { LimiterCore, liveLimiters, readSubject, shown, type Limit } from '@sluice/core/spi';

/** A limit that is shown. */
export interface KnownLimit {
  readonly core: LimiterCore;
  readonly limit: Limit;
  /** Whether others count the same keys with other numbers, as plans and rules do. */
  readonly isUnsure: boolean;
}

/** A key under a limit. */
export interface LimitedKey extends KnownLimit {
  /** The key in the store, which is bounded. */
  readonly subject: string;
  /** The key as the application gave it, shortened if it is long. */
  readonly key: string;
  /** Its full length in characters. */
  readonly length: number;
}

/** A limiter, or middleware that has one. */
export type LimiterOption = Limiter<never> | { readonly limiter: Limiter<never> };

/** @throws PolicyError for a list of anything else. */
export function readLimiters(given: unknown): ReadonlySet<LimiterCore> | undefined {
  if (given === undefined) return undefined;
  const fail = (field: string, value: unknown): never => {
    const expected = `${field === 'limiters' ? 'a list, each entry ' : ''}a limiter, or what rateLimit() returned`;
    throw new PolicyError(field, `${field} must be ${expected}, got ${shown(value)}`, 'SLUICE_OPTION_INVALID');
  };
  if (!Array.isArray(given)) return fail('limiters', given);
  return new Set(
    given.map((one: unknown, i) => {
      const limiter = typeof one === 'function' ? (one as { limiter?: unknown }).limiter : one;
      return limiter instanceof LimiterCore ? limiter : fail(`limiters[${String(i)}]`, one);
    }),
  );
}

/** The limiters to show, by name: the given ones, or all in the process. */
export function listCores(only: ReadonlySet<LimiterCore> | undefined): readonly LimiterCore[] {
  const all = only === undefined ? liveLimiters().filter((one) => one instanceof LimiterCore) : [...only];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Every limit that is shown. A managed policy that several limiters of a store use counts as one limit. */
export function listLimits(only: ReadonlySet<LimiterCore> | undefined): readonly KnownLimit[] {
  const found = new Map<object, Map<string, KnownLimit>>();
  for (const core of listCores(only)) {
    const byId = found.get(core.store) ?? new Map<string, KnownLimit>();
    found.set(core.store, byId);
    for (const limit of core.known) {
      const id = limitId(core, limit);
      const before = byId.get(id);
      const isUnsure =
        before !== undefined && (before.isUnsure || describeNumbers(before.limit) !== describeNumbers(limit));
      byId.set(id, { core, limit, ...before, isUnsure });
    }
  }
  return [...found.values()].flatMap((byId) => [...byId.values()]);
}

function describeNumbers({ fixed }: Limit): string {
  return JSON.stringify(fixed?.map(({ policy }) => policy));
}

/** Equal for limits that count the same keys in a store. */
export function limitId({ name }: LimiterCore, limit: Limit): string {
  const { fixed, mark } = limit;
  return mark?.name ?? fixed?.map(({ suffix }) => suffix).join(' ') ?? `${name} ${limit.name}`;
}

/** A key under a limit, although it was not counted. */
export function keyUnder(known: KnownLimit, key: string): LimitedKey {
  return { ...known, key, length: key.length, subject: readSubject(key) };
}

/**
 * Policies as these tests write them, without checks: what src/policies makes replaces this file.
 */
interface Limited<Algorithm extends string> {
  readonly algorithm: Algorithm;
  readonly limit: number;
  readonly windowMs: number;
}
interface Filled<Algorithm extends string> {
  readonly algorithm: Algorithm;
  readonly capacity: number;
  readonly overdraft: number;
  readonly windowMs: number;
}
/** `p` units per `q` milliseconds, in lowest terms. */
interface Rate {
  readonly p: number;
  readonly q: number;
}

export type Policy =
  | (Limited<'fixedWindow'> & { readonly align: 'first-hit' | 'clock' })
  | (Limited<'slidingWindow'> & { readonly precisionMs: number })
  | Limited<'slidingCounter'>
  | Limited<'slidingLog'>
  | (Limited<'leakyBucket'> & Rate & { readonly maxDelayMs: number })
  | (Limited<'concurrency'> & { readonly ttlMs: number })
  | (Filled<'tokenBucket'> & Rate)
  | (Filled<'intervalBucket'> & { readonly refill: number; readonly everyMs: number });

type Duration = number | string;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function milliseconds(duration: Duration): number {
  if (typeof duration === 'number') return duration;
  const [, amount = '', unit = ''] = /^([\d.]+)([a-z]+)$/.exec(duration) ?? [];
  return Math.round(Number(amount) * (UNITS[unit] ?? Number.NaN));
}

interface Windowed {
  readonly limit: number;
  readonly window: Duration;
}

export const fixedWindow = ({
  limit,
  window,
  align = 'first-hit',
}: Windowed & { readonly align?: 'first-hit' | 'clock' }): Policy => ({
  algorithm: 'fixedWindow',
  limit,
  windowMs: milliseconds(window),
  align,
});

export function slidingWindow({ limit, window, precision }: Windowed & { readonly precision?: Duration }): Policy {
  const windowMs = milliseconds(window);
  const precisionMs = precision === undefined ? Math.ceil(windowMs / 10) : milliseconds(precision);
  return { algorithm: 'slidingWindow', limit, windowMs, precisionMs };
}

export const slidingCounter = ({ limit, window }: Windowed): Policy => ({
  algorithm: 'slidingCounter',
  limit,
  windowMs: milliseconds(window),
});

export const slidingLog = ({ limit, window }: Windowed): Policy => ({
  algorithm: 'slidingLog',
  limit,
  windowMs: milliseconds(window),
});

export function tokenBucket({
  capacity,
  refill,
  every,
  overdraft = 0,
  mode,
}: {
  readonly capacity: number;
  readonly refill: number;
  readonly every: Duration;
  readonly overdraft?: number;
  readonly mode?: 'continuous' | 'interval';
}): Policy {
  const everyMs = milliseconds(every);
  if (mode === 'interval') {
    const windowMs = Math.ceil(capacity / refill) * everyMs;
    return { algorithm: 'intervalBucket', capacity, refill, everyMs, overdraft, windowMs };
  }
  const { p, q } = rate(refill, everyMs);
  return { algorithm: 'tokenBucket', capacity, overdraft, p, q, windowMs: Math.ceil((capacity * q) / p) };
}

export function leakyBucket({ limit, window, maxDelay }: Windowed & { readonly maxDelay: Duration }): Policy {
  const windowMs = milliseconds(window);
  return { algorithm: 'leakyBucket', limit, windowMs, maxDelayMs: milliseconds(maxDelay), ...rate(limit, windowMs) };
}

export function concurrency({ limit, ttl }: { readonly limit: number; readonly ttl: Duration }): Policy {
  const ttlMs = milliseconds(ttl);
  return { algorithm: 'concurrency', limit, windowMs: ttlMs, ttlMs };
}

const MAKERS: Readonly<Record<string, (options: never) => Policy>> = {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
};

/** A policy by the name of the function that makes it, and its options. */
export function makePolicy({ kind, ...options }: { readonly kind: string }): Policy {
  return (MAKERS[kind] as (options: object) => Policy)(options);
}

function rate(units: number, ms: number): Rate {
  let [divisor, rest] = [units, ms];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return { p: units / divisor, q: ms / divisor };
}

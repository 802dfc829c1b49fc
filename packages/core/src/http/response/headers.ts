import { PolicyError, shown } from '../../errors.ts';
import type { Decision, PolicyDecision } from '../../limiter/decision.ts';

/**
 * The format of the header fields. `draft-11`, `draft-7` and `draft-6` are revisions of
 * draft-ietf-httpapi-ratelimit-headers, a work in progress. `legacy` is the X-RateLimit family, whose Reset is in
 * seconds since 1970 (`epoch`) or from now (`delta`).
 */
export type HeaderFormat = 'draft-11' | 'draft-7' | 'draft-6' | { readonly legacy: 'epoch' | 'delta' };

/** A format, a list of formats (at most one draft, because the drafts share field names), or false for none. */
export type HeadersOption = HeaderFormat | readonly HeaderFormat[] | false;

/** One header field of a response. */
export interface Field {
  readonly name: string;
  /** The name in lower case, by which Node looks it up. */
  readonly key: string;
  readonly value: string;
  /** Whether it is a list to which other limiters of the same request add. */
  readonly append: boolean;
}

/** Writes the fields of one format. */
export type FieldWriter = (decision: Decision) => readonly Field[];

const FORMATS =
  'headers must be "draft-11", "draft-7", "draft-6", { legacy: "epoch" | "delta" }, a list of these with at most one draft, or false';

/**
 * Turns the option `headers` into a function.
 *
 * @throws PolicyError if it is not a format.
 */
export function fieldWriter(option: HeadersOption = 'draft-11'): FieldWriter {
  if (option === false) return () => [];
  const formats: readonly unknown[] = Array.isArray(option) ? option : [option];
  const writers = formats.map(makeWriter);
  if (formats.filter((format) => typeof format === 'string').length > 1) {
    throw new PolicyError('headers', `${FORMATS}; got ${formats.map(shown).join(' and ')}`, 'SLUICE_OPTION_INVALID');
  }
  const [only] = writers;
  return writers.length === 1 && only !== undefined ? only : (decision) => writers.flatMap((write) => write(decision));
}

function makeWriter(format: unknown): FieldWriter {
  if (format === 'draft-11') return draft11();
  if (format === 'draft-7') return draft7;
  if (format === 'draft-6') return draft6;
  const reset = (format as { readonly legacy?: unknown } | null | undefined)?.legacy;
  if (reset === 'epoch' || reset === 'delta') return legacy(reset);
  throw new PolicyError('headers', `${FORMATS}; got ${shown(format)}`, 'SLUICE_OPTION_INVALID');
}

export function field(name: string, value: string): Field {
  return { name, key: name.toLowerCase(), value, append: false };
}

/**
 * Lists of named items, one per policy. `t` is the time until one unit more than `r` is available. Slots have no
 * window, and a time only during a block.
 */
function draft11(): FieldWriter {
  let [quota, last] = ['', undefined as PolicyDecision | undefined];
  return ({ policies }) => {
    let [quotas, states] = ['', ''];
    for (let i = 0; i < policies.length; i++) {
      const own = policies[i] as PolicyDecision;
      const { name, limit, windowMs, unit, remaining, nextAfterMs } = own;
      // Most decisions have the same policy as the last one, and so the same text.
      if (last?.name !== name || last.limit !== limit || last.windowMs !== windowMs || last.unit !== unit) {
        last = own;
        const per = unit === undefined ? `w=${String(seconds(windowMs))}` : `qu="${unit}"`;
        quota = `"${name}";q=${String(limit)};${per}`;
      }
      const state = `"${name}";r=${String(remaining)}`;
      const timed = nextAfterMs === null ? state : `${state};t=${String(Math.ceil(nextAfterMs / 1000))}`;
      quotas = i === 0 ? quota : `${quotas}, ${quota}`;
      states = i === 0 ? timed : `${states}, ${timed}`;
    }
    return [
      { name: 'RateLimit-Policy', key: 'ratelimit-policy', value: quotas, append: true },
      { name: 'RateLimit', key: 'ratelimit', value: states, append: true },
    ];
  };
}

function draft7(decision: Decision): readonly Field[] {
  const { limit, remaining, resetAfterMs } = findDecidingPolicy(decision);
  const state = `limit=${String(limit)}, remaining=${String(remaining)}, reset=${String(seconds(resetAfterMs))}`;
  return [field('RateLimit-Policy', formatQuotas(decision)), field('RateLimit', state)];
}

function draft6(decision: Decision): readonly Field[] {
  const { limit, remaining, resetAfterMs } = findDecidingPolicy(decision);
  return [
    field('RateLimit-Limit', String(limit)),
    field('RateLimit-Remaining', String(remaining)),
    field('RateLimit-Reset', String(seconds(resetAfterMs))),
    field('RateLimit-Policy', formatQuotas(decision)),
  ];
}

function legacy(unit: 'epoch' | 'delta'): FieldWriter {
  return (decision) => {
    const { limit, remaining, resetAfterMs } = findDecidingPolicy(decision);
    const reset = seconds(unit === 'epoch' ? decision.atMs + resetAfterMs : resetAfterMs);
    return [
      field('X-RateLimit-Limit', String(limit)),
      field('X-RateLimit-Remaining', String(remaining)),
      field('X-RateLimit-Reset', String(reset)),
    ];
  };
}

function formatQuotas({ policies }: Decision): string {
  return policies
    .map(({ limit, windowMs, unit }) =>
      unit === undefined ? `${String(limit)};w=${String(seconds(windowMs))}` : `${String(limit)};comment="${unit}"`,
    )
    .join(', ');
}

/** The older formats report one policy: the one that decided. */
function findDecidingPolicy({ policies, policy }: Decision): PolicyDecision {
  return policies.find(({ name }) => name === policy) ?? (policies[0] as PolicyDecision);
}

/** Milliseconds in whole seconds, rounded up. */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

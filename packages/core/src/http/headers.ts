import type { Decision, PolicyDecision } from '../decision.ts';
import { PolicyError, shown } from '../errors.ts';
import { LARGEST_LIMIT } from '../numbers.ts';

/**
 * Which header fields tell a client of its limits. `draft-11`, `draft-7` and `draft-6` are revisions of
 * draft-ietf-httpapi-ratelimit-headers, a work in progress; `legacy` is the X-RateLimit family, whose Reset is seconds
 * since 1970 (`epoch`) for some clients and seconds from now (`delta`) for others.
 */
export type HeaderFormat = 'draft-11' | 'draft-7' | 'draft-6' | { readonly legacy: 'epoch' | 'delta' };

/** A format, several (at most one of them a draft, for the drafts share field names), or none. */
export type HeadersOption = HeaderFormat | readonly HeaderFormat[] | false;

/** One header field of an answer. */
export interface Field {
  readonly name: string;
  readonly value: string;
  /** Whether it is a list that other limiters of the same request add to. */
  readonly append: boolean;
}

/** Writes the fields of one format. */
export type FieldWriter = (decision: Decision) => readonly Field[];

const FORMATS =
  'headers must be "draft-11", "draft-7", "draft-6", { legacy: "epoch" | "delta" }, a list of these with one draft at most, or false';

/**
 * Turns the option `headers` into a function.
 *
 * @throws PolicyError when it is no format.
 */
export function fieldWriter(option: HeadersOption = 'draft-11'): FieldWriter {
  if (option === false) return () => [];
  const formats: readonly unknown[] = Array.isArray(option) ? option : [option];
  const writers = formats.map(writerOf);
  if (formats.filter((format) => typeof format === 'string').length > 1) {
    throw new PolicyError('headers', `${FORMATS}; got ${formats.map(shown).join(' and ')}`, 'SLUICE_OPTION_INVALID');
  }
  const [only] = writers;
  return writers.length === 1 && only !== undefined ? only : (decision) => writers.flatMap((write) => write(decision));
}

function writerOf(format: unknown): FieldWriter {
  switch (format) {
    case 'draft-11':
      return draft11();
    case 'draft-7':
      return draft7;
    case 'draft-6':
      return draft6;
    default: {
      const legacyReset = (format as { readonly legacy?: unknown } | null | undefined)?.legacy;
      if (legacyReset === 'epoch' || legacyReset === 'delta') return legacy(legacyReset);
      throw new PolicyError('headers', `${FORMATS}; got ${shown(format)}`, 'SLUICE_OPTION_INVALID');
    }
  }
}

/**
 * Lists of named items, one per policy. `t` is the time until one more unit than `r` can be had. Slots have no window, and no
 * time but that of a block.
 */
function draft11(): FieldWriter {
  const quotas = new QuotaItems();
  return ({ policies }) => {
    const only = policies[0] as PolicyDecision;
    if (policies.length === 1) {
      const { field, name } = quotas.of(only);
      return [field, { name: 'RateLimit', value: stateOf(name, only), append: true }];
    }
    let [items, states] = ['', ''];
    for (const policy of policies) {
      const { field, name } = quotas.of(policy);
      const separator = items === '' ? '' : ', ';
      items += separator + field.value;
      states += separator + stateOf(name, policy);
    }
    return [
      { name: 'RateLimit-Policy', value: items, append: true },
      { name: 'RateLimit', value: states, append: true },
    ];
  };
}

function stateOf(name: string, { remaining, nextAfterMs }: PolicyDecision): string {
  const item = `${name};r=${integer(remaining)}`;
  return nextAfterMs === null ? item : `${item};t=${integer(seconds(nextAfterMs))}`;
}

/** What of the fields of a policy is the same for all answers, while its numbers are. */
interface QuotaItem {
  readonly limit: number;
  readonly windowMs: number;
  readonly unit: string | undefined;
  /** Its item, as a field of its own. */
  readonly field: Field;
  /** Its name, as it stands in fields. */
  readonly name: string;
}

const MOST_NAMES = 1000;

/** The quotas of policies, by their names. Written again when their numbers change: those of managed policies do. */
class QuotaItems {
  readonly #items = new Map<string, QuotaItem>();

  of({ name, limit, windowMs, unit }: PolicyDecision): QuotaItem {
    const known = this.#items.get(name);
    if (known?.limit === limit && known.windowMs === windowMs && known.unit === unit) return known;
    const quota = unit === undefined ? { q: limit, w: seconds(windowMs) } : { q: limit, qu: unit };
    const field = { name: 'RateLimit-Policy', value: quotaItem(name, quota), append: true };
    const item = { limit, windowMs, unit, field, name: text(name) };
    if (this.#items.size >= MOST_NAMES) this.#items.clear(); // a function of the user may make names without end
    this.#items.set(name, item);
    return item;
  }
}

/** What a parameter may carry beside those of the draft: a vendor's own. */
type Extension = string | number | boolean | Uint8Array;

/** What stands in both fields of draft-11. */
interface ItemParameters {
  /** The partition that the policy applies to. */
  readonly pk?: Uint8Array | undefined;
  /** Parameters of a vendor, by their keys. */
  readonly vendor?: Readonly<Record<string, Extension>> | undefined;
}

/**
 * One item of RateLimit-Policy in draft-11: a quota, its unit (`requests` unless said), and its window in seconds.
 *
 * @throws TypeError for what no structured field (RFC 9651) can carry.
 */
export function quotaItem(
  name: string,
  parameters: ItemParameters & { readonly q: number; readonly qu?: string; readonly w?: number | undefined },
): string {
  const { q, qu, w } = parameters;
  let item = `${text(name)};q=${integer(q)}`;
  if (qu !== undefined) item += `;qu=${text(qu)}`;
  if (w !== undefined) item += `;w=${integer(w, 1)}`;
  return item + extensions(parameters);
}

/**
 * One item of RateLimit in draft-11: what is left, and the seconds until there is more.
 *
 * @throws TypeError for what no structured field (RFC 9651) can carry.
 */
export function stateItem(
  name: string,
  parameters: ItemParameters & { readonly r: number; readonly t?: number | undefined },
): string {
  const { r, t } = parameters;
  const item = `${text(name)};r=${integer(r)}`;
  return (t === undefined ? item : `${item};t=${integer(t)}`) + extensions(parameters);
}

function extensions({ pk, vendor }: ItemParameters): string {
  let written = pk === undefined ? '' : `;pk=${bytes(pk)}`;
  if (vendor === undefined) return written;
  for (const [key, value] of Object.entries(vendor)) {
    if (!/^[a-z*][a-z0-9_.*-]*$/.test(key)) refuse('a parameter key in lower case', key);
    if (value === true) written += `;${key}`;
    else if (value === false) written += `;${key}=?0`;
    else if (typeof value === 'string') written += `;${key}=${text(value)}`;
    else written += `;${key}=${typeof value === 'number' ? integer(value, -LARGEST_LIMIT) : bytes(value)}`;
  }
  return written;
}

function integer(value: number, least = 0): string {
  if (Number.isInteger(value) && value >= least && value <= LARGEST_LIMIT) return String(value);
  return refuse(`a whole number from ${String(least)} to ${String(LARGEST_LIMIT)}`, value);
}

function text(value: string): string {
  // Names of policies, which is what comes here for every answer, were checked when they were given.
  if (/^[\w.-]+$/.test(value)) return `"${value}"`;
  if (value === '' || /[^ -~]/.test(value)) refuse('printable ASCII that is not empty', value);
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

function bytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) return refuse('bytes in a Uint8Array', value);
  return `:${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}:`;
}

function refuse(expected: string, value: unknown): never {
  throw new TypeError(`a header field takes ${expected}, got ${shown(value)}`);
}

function draft7(decision: Decision): readonly Field[] {
  const { limit, remaining, resetAfterMs } = deciding(decision);
  return [
    { name: 'RateLimit-Policy', value: unnamedQuotas(decision), append: false },
    {
      name: 'RateLimit',
      value: `limit=${String(limit)}, remaining=${String(remaining)}, reset=${String(seconds(resetAfterMs))}`,
      append: false,
    },
  ];
}

function draft6(decision: Decision): readonly Field[] {
  const { limit, remaining, resetAfterMs } = deciding(decision);
  return [
    { name: 'RateLimit-Limit', value: String(limit), append: false },
    { name: 'RateLimit-Remaining', value: String(remaining), append: false },
    { name: 'RateLimit-Reset', value: String(seconds(resetAfterMs)), append: false },
    { name: 'RateLimit-Policy', value: unnamedQuotas(decision), append: false },
  ];
}

function legacy(unit: 'epoch' | 'delta'): FieldWriter {
  return (decision) => {
    const { limit, remaining, resetAfterMs } = deciding(decision);
    const reset = seconds(unit === 'epoch' ? decision.atMs + resetAfterMs : resetAfterMs);
    return [
      { name: 'X-RateLimit-Limit', value: String(limit), append: false },
      { name: 'X-RateLimit-Remaining', value: String(remaining), append: false },
      { name: 'X-RateLimit-Reset', value: String(reset), append: false },
    ];
  };
}

function unnamedQuotas({ policies }: Decision): string {
  return policies
    .map(({ limit, windowMs, unit }) =>
      unit === undefined ? `${String(limit)};w=${String(seconds(windowMs))}` : `${String(limit)};comment="${unit}"`,
    )
    .join(', ');
}

/** The older formats have room for one policy: the one that decided. */
function deciding({ policies, policy }: Decision): PolicyDecision {
  return policies.find(({ name }) => name === policy) ?? (policies[0] as PolicyDecision);
}

/** Milliseconds as header fields tell them: whole seconds, rounded up, and no more than a structured field can carry. */
export function seconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), LARGEST_LIMIT);
}

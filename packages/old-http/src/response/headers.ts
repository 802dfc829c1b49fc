import { LARGEST_LIMIT, PolicyError, shown, type Decision, type PolicyDecision } from '@sluice/old-core/kernels';

/**
 * Which header fields inform a client about its limits. `draft-11`, `draft-7` and `draft-6` are revisions of
 * draft-ietf-httpapi-ratelimit-headers, a work in progress; `legacy` is the X-RateLimit family, whose Reset is
 * seconds since 1970 (`epoch`) for some clients and seconds from now (`delta`) for others.
 */
export type HeaderFormat = 'draft-11' | 'draft-7' | 'draft-6' | { readonly legacy: 'epoch' | 'delta' };

/** A format, several (at most one draft, because the drafts share field names), or none. */
export type HeadersOption = HeaderFormat | readonly HeaderFormat[] | false;

/** One header field of a response. */
export interface Field {
  readonly name: string;
  readonly value: string;
  /** Whether it is a list to which other limiters of the same request add. */
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
 * Lists of named items, one per policy. `t` is the time until one unit more than `r` is available. Slots have no
 * window, and no time except that of a block.
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

function stateOf(name: string, { remaining, nextAfterMs, isResetKnown }: PolicyDecision): string {
  const item = `${name};r=${integer(remaining)}`;
  return nextAfterMs === null || isResetKnown === false ? item : `${item};t=${integer(seconds(nextAfterMs))}`;
}

/** The part of a policy's fields that all responses share, as long as its numbers stay the same. */
interface QuotaItem {
  readonly limit: number;
  readonly windowMs: number;
  readonly unit: string | undefined;
  /** The item as a field of its own. */
  readonly field: Field;
  /** The policy's name as written in fields. */
  readonly name: string;
}

const MOST_NAMES = 1000;

/**
 * The quotas of policies by name. An item is rewritten when the numbers of its policy change, as a managed policy's
 * can.
 */
class QuotaItems {
  readonly #items = new Map<string, QuotaItem>();

  of({ name, limit, windowMs, unit }: PolicyDecision): QuotaItem {
    const known = this.#items.get(name);
    if (known?.limit === limit && known.windowMs === windowMs && known.unit === unit) return known;
    const quota = unit === undefined ? { q: limit, w: seconds(windowMs) } : { q: limit, qu: unit };
    const field = { name: 'RateLimit-Policy', value: quotaItem(name, quota), append: true };
    const item = { limit, windowMs, unit, field, name: text(name) };
    if (this.#items.size >= MOST_NAMES) this.#items.clear(); // a policy function may produce unlimited names
    this.#items.set(name, item);
    return item;
  }
}

/** The value of a vendor's own parameter. */
type Extension = string | number | boolean | Uint8Array;

/** Parameters of both fields of draft-11. */
interface ItemParameters {
  /** The partition that the policy applies to. */
  readonly pk?: Uint8Array | undefined;
  /** Parameters of a vendor, by their keys. */
  readonly vendor?: Readonly<Record<string, Extension>> | undefined;
}

/**
 * One item of RateLimit-Policy in draft-11: a quota, its unit (default `requests`), and its window in seconds.
 *
 * @throws TypeError for a value that no structured field (RFC 9651) can carry.
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
 * One item of RateLimit in draft-11: the units that are left, and the seconds until there are more.
 *
 * @throws TypeError for a value that no structured field (RFC 9651) can carry.
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
    if (!/^[a-z*][a-z0-9_.*-]*$/.test(key)) reject('a parameter key in lower case', key);
    if (value === true) written += `;${key}`;
    else if (value === false) written += `;${key}=?0`;
    else if (typeof value === 'string') written += `;${key}=${text(value)}`;
    else written += `;${key}=${typeof value === 'number' ? integer(value, -LARGEST_LIMIT) : bytes(value)}`;
  }
  return written;
}

function integer(value: number, least = 0): string {
  if (Number.isInteger(value) && value >= least && value <= LARGEST_LIMIT) return String(value);
  return reject(`a whole number from ${String(least)} to ${String(LARGEST_LIMIT)}`, value);
}

function text(value: string): string {
  // The usual case: the name of a policy, which was checked when the policy was made.
  if (/^[\w.-]+$/.test(value)) return `"${value}"`;
  if (value === '' || /[^ -~]/.test(value)) reject('printable ASCII that is not empty', value);
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

function bytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) return reject('bytes in a Uint8Array', value);
  return `:${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}:`;
}

function reject(expected: string, value: unknown): never {
  throw new TypeError(`a header field takes ${expected}, got ${shown(value)}`);
}

function draft7(decision: Decision): readonly Field[] {
  const { limit, remaining, resetAfterMs } = decidingPolicy(decision);
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
  const { limit, remaining, resetAfterMs } = decidingPolicy(decision);
  return [
    { name: 'RateLimit-Limit', value: String(limit), append: false },
    { name: 'RateLimit-Remaining', value: String(remaining), append: false },
    { name: 'RateLimit-Reset', value: String(seconds(resetAfterMs)), append: false },
    { name: 'RateLimit-Policy', value: unnamedQuotas(decision), append: false },
  ];
}

function legacy(unit: 'epoch' | 'delta'): FieldWriter {
  return (decision) => {
    const { limit, remaining, resetAfterMs } = decidingPolicy(decision);
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

/** The older formats report one policy: the one that decided. */
function decidingPolicy({ policies, policy }: Decision): PolicyDecision {
  return policies.find(({ name }) => name === policy) ?? (policies[0] as PolicyDecision);
}

/** Milliseconds in whole seconds, rounded up, at most the largest integer of a structured field. */
export function seconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), LARGEST_LIMIT);
}

import { policyOf, type Policy, type PolicyFunction } from '@sluice/core';
import { readPolicy, type FilePolicy } from './policy-value.ts';
import type { Steps } from './steps.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

/** Other numbers that a file gives one key, or all keys with a prefix. */
export interface KeyOverride {
  readonly kind: 'key' | 'prefix';
  readonly text: string;
  /** The new numbers, of the same kind as the policy they override. */
  readonly policy: Policy;
  readonly written: string;
  /** When it ends, milliseconds since 1970. Infinity: it does not. */
  readonly untilMs: number;
}

/** The fields of an override beside its policy. `by`, `reason` and `at` are for those who read the file. */
const BESIDE = ['key', 'prefix', 'until', 'by', 'reason', 'at'];
const EXPECTED = 'key: or prefix:, and a policy';
const MAX_PREFIX = 256;
const IN_ITS_SOURCE =
  'the overrides of a managed limit are kept where it is: use policies.override(), or /v1/overrides';

/**
 * Reads `overrides` of a limit: a list of policies of its kind, each with a key or a prefix. Problems are reported.
 *
 * @param name - Of the limit.
 */
export function* readKeyOverrides(value: YamlValue, name: string, { base }: FilePolicy): Steps<readonly KeyOverride[]> {
  if (value.isMissing) return [];
  if (base === undefined) {
    value.problemAtName(IN_ITS_SOURCE);
    return [];
  }
  const found = new Map<string, KeyOverride>();
  const places = new Map<string, string>();
  for (const item of value.items('overrides', `maps with ${EXPECTED}`)) {
    yield;
    const override = readOverride(item, name, base);
    if (override === undefined) continue;
    const { kind, text } = override;
    const known = places.get(`${kind} ${text}`);
    if (known !== undefined) item.problem(`the ${kind} ${quoted(text)} has an override at ${known}; write it once`);
    places.set(`${kind} ${text}`, item.place);
    found.set(`${kind} ${text}`, override);
  }
  return [...found.values()];
}

/**
 * The policy of a limit that is another one for some keys: that of the key itself, else that of its longest prefix. An
 * override ends by the clock of this process.
 */
export function overriddenPolicy(base: Policy, overrides: readonly KeyOverride[]): PolicyFunction {
  const byTarget = new Map(overrides.map((one) => [`${one.kind} ${one.text}`, one]));
  const prefixes = overrides.filter(({ kind }) => kind === 'prefix').map(({ text }) => text.length);
  const lengths = [...new Set(prefixes)].sort((one, other) => other - one);
  return policyOf((key) => {
    const isInForce = (one: KeyOverride | undefined): one is KeyOverride =>
      one !== undefined && (one.untilMs === Infinity || one.untilMs > Date.now());
    const own = byTarget.get(`key ${key}`);
    if (isInForce(own)) return own.policy;
    for (const length of lengths) {
      const override = byTarget.get(`prefix ${key.slice(0, length)}`);
      if (isInForce(override)) return override.policy;
    }
    return base;
  });
}

function readOverride(item: YamlValue, name: string, base: Policy): KeyOverride | undefined {
  if (!item.isMap) {
    item.problem(`an override must hold ${EXPECTED}`);
    return undefined;
  }
  const where = `an override of ${name}`;
  const fields = new Map(item.fields(where, EXPECTED).map((field) => [field.name, field.value]));
  for (const field of ['by', 'reason']) fields.get(field)?.text(field);
  readInstant(fields.get('at'), 'at');
  const untilMs = readInstant(fields.get('until'), 'until') ?? Infinity;
  const target = readTarget(item, fields.get('key'), fields.get('prefix'));
  const read = readPolicy(item, { where, name, mayName: false, beside: BESIDE });
  if (read === undefined || target === undefined) return undefined;
  const kind = read.base?.algorithm ?? 'managed';
  if (read.base !== undefined && kind === base.algorithm) {
    return { ...target, policy: read.base, written: read.written, untilMs };
  }
  item.problem(`${where} must be a ${base.algorithm}, as the limit is, got ${kind}`);
  return undefined;
}

function readTarget(
  item: YamlValue,
  key: YamlValue | undefined,
  prefix: YamlValue | undefined,
): Pick<KeyOverride, 'kind' | 'text'> | undefined {
  if ((key === undefined) === (prefix === undefined)) {
    item.problem('an override must have either key or prefix');
    return undefined;
  }
  const [kind, value] = key === undefined ? (['prefix', prefix] as const) : (['key', key] as const);
  const text = value?.text(kind) ?? '';
  if (text !== '' && (kind === 'key' || text.length <= MAX_PREFIX)) return { kind, text };
  value?.problem(
    kind === 'key'
      ? `key must be a text that is not empty`
      : `prefix must be a text of 1 to ${String(MAX_PREFIX)} characters`,
  );
  return undefined;
}

function readInstant(value: YamlValue | undefined, field: string): number | undefined {
  const text = value?.text(field);
  if (text === undefined) return undefined;
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  value?.problem(`${field} must be an instant such as 2027-01-01T00:00:00Z, got ${quoted(text)}`);
  return undefined;
}

import { PolicyError, type Policy } from '@sluice/old-core';
import { parseTarget, type ManagedReference, type OverrideTarget, type Target } from '@sluice/old-managed';
import type { KeyOverride } from './overridden-limit.ts';
import { readPolicy } from './policy-value.ts';
import type { Steps } from './steps.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

/** The fields of an override beside its policy. `by`, `reason` and `at` are for those who read the file. */
const BESIDE = ['key', 'prefix', 'until', 'by', 'reason', 'at'];
const EXPECTED = 'key: or prefix:, and a policy';
const IN_ITS_SOURCE =
  'the overrides of a managed limit are kept where it is: use sluice policy override, or /v1/overrides';

/**
 * Reads `overrides` of a limit: a list of policies of its kind, each with a key or a prefix. Problems are reported.
 *
 * @param name - Of the limit.
 */
export function* readKeyOverrides(
  value: YamlValue,
  name: string,
  policy: Policy | ManagedReference,
): Steps<readonly KeyOverride[]> {
  if (value.isMissing) return [];
  if (policy.algorithm === 'managed') {
    value.problemAtName(IN_ITS_SOURCE);
    return [];
  }
  const found = new Map<string, KeyOverride>();
  const places = new Map<string, string>();
  for (const item of value.items('overrides', `maps with ${EXPECTED}`)) {
    yield;
    const override = readOverride(item, name, policy);
    if (override === undefined) continue;
    const { kind, text } = override.target;
    const known = places.get(`${kind} ${text}`);
    if (known !== undefined) item.problem(`the ${kind} ${quoted(text)} has an override at ${known}; write it once`);
    places.set(`${kind} ${text}`, item.place);
    found.set(`${kind} ${text}`, override);
  }
  return [...found.values()];
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
  const policy = readPolicy(item, { where, name, mayName: false, beside: BESIDE });
  if (policy === undefined || target === undefined) return undefined;
  if (policy.algorithm === base.algorithm) return { target, policy, untilMs };
  item.problem(`${where} must be a ${base.algorithm}, as the limit is, got ${policy.algorithm}`);
  return undefined;
}

function readTarget(item: YamlValue, key: YamlValue | undefined, prefix: YamlValue | undefined): Target | undefined {
  if ((key === undefined) === (prefix === undefined)) {
    item.problem('an override must have either key or prefix');
    return undefined;
  }
  const [field, value] = key === undefined ? (['prefix', prefix] as const) : (['key', key] as const);
  const text = value?.text(field) ?? '';
  try {
    return parseTarget((field === 'key' ? text : { prefix: text }) satisfies OverrideTarget);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    value?.problem(error.message);
    return undefined;
  }
}

function readInstant(value: YamlValue | undefined, field: string): number | undefined {
  const text = value?.text(field);
  if (text === undefined) return undefined;
  const atMs = Date.parse(text);
  if (!Number.isNaN(atMs)) return atMs;
  value?.problem(`${field} must be an instant such as 2027-01-01T00:00:00Z, got ${quoted(text)}`);
  return undefined;
}

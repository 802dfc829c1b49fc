import type { KeyOverride, PolicyData } from './configuration-data.ts';
import { readPolicy } from './policy-value.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

/** The fields of an override beside its policy. `by`, `reason` and `at` are for those who read the file. */
const BESIDE = ['key', 'prefix', 'until', 'by', 'reason', 'at'];
const EXPECTED = 'key: or prefix:, and a policy';
const MAX_PREFIX = 256;

/**
 * Reads `overrides` of a limit: a list of policies of its kind, each with a key or a prefix. Problems are reported.
 *
 * @param name - Of the limit.
 */
export function readKeyOverrides(
  value: YamlValue,
  name: string,
  { policies: [base] }: PolicyData,
): readonly KeyOverride[] {
  if (value.isMissing) return [];
  if (base === undefined) {
    value.problemAtName(
      'the overrides of a managed limit are kept where it is: use policies.override(), or /v1/overrides',
    );
    return [];
  }
  const places = new Map<string, string>();
  return value.items('overrides', `maps with ${EXPECTED}`).flatMap((item) => {
    const override = readOverride(item, name, base.algorithm);
    if (override === undefined) return [];
    const { kind, text } = override;
    const known = places.get(`${kind} ${text}`);
    if (known !== undefined) item.problem(`the ${kind} ${quoted(text)} has an override at ${known}; write it once`);
    places.set(`${kind} ${text}`, item.place);
    return [override];
  });
}

function readOverride(item: YamlValue, name: string, algorithm: string): KeyOverride | undefined {
  const where = `an override of ${name}`;
  if (!item.isMap) {
    item.problem(`an override must hold ${EXPECTED}`);
    return undefined;
  }
  const fields = new Map(item.fields(where, EXPECTED).map((field) => [field.name, field.value]));
  for (const field of ['by', 'reason']) fields.get(field)?.text(field);
  readInstant(fields.get('at'), 'at');
  const untilMs = readInstant(fields.get('until'), 'until') ?? Infinity;
  const target = readTarget(item, fields.get('key'), fields.get('prefix'));
  const policy = readPolicy(item, { where, name, mayName: false, beside: BESIDE });
  if (policy === undefined || target === undefined) return undefined;
  const kind = policy.policies[0]?.algorithm ?? 'managed';
  if (kind === algorithm) return { ...target, policy, untilMs };
  item.problem(`${where} must be a ${algorithm}, as the limit is, got ${kind}`);
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
  const expected = kind === 'key' ? 'that is not empty' : `of 1 to ${String(MAX_PREFIX)} characters`;
  value?.problem(`${kind} must be a text ${expected}`);
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

import type { DescriptorData, PolicyData, RuleData } from './configuration-data.ts';
import { isName, readPolicy, type PolicyOptions } from './policy-value.ts';
import { makeLabel, makeSegment } from './subject.ts';
import { UNITS } from './units.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

const FIELDS = [
  'key',
  'value',
  'rate_limit',
  'sluice',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'name',
  'replaces',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
] as const;

const RATE_FIELDS = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces'] as const;

/** Numbers in the protocol have 32 bits. */
const MAX_REQUESTS = 2 ** 32 - 1;

type Fields = Readonly<Record<(typeof FIELDS)[number], YamlValue>>;

/** The parent of descriptors: a domain, or a descriptor. */
export interface Above {
  /** Its name in metrics. */
  readonly name: string;
  /** Its part of keys. */
  readonly key: string;
  /** Where each descriptor was defined, by its part of keys. */
  readonly places: Map<string, string>;
}

/** Reads a list of descriptors, with their children. */
export function readDescriptors(value: YamlValue, above: Above): readonly DescriptorData[] {
  const items = value.items('descriptors', 'maps with key, such as - key: remote_address');
  return items.flatMap((item) => readDescriptor(item, above) ?? []);
}

function readDescriptor(item: YamlValue, above: Above): DescriptorData | undefined {
  const fields = item.record(FIELDS, 'a descriptor', 'key: and its name');
  if (!item.isMap && !item.isMissing) return undefined;
  const key = fields.key.text('key') ?? '';
  const value = fields.value.text('value') ?? '';
  const shareThreshold = fields.share_threshold.flag('share_threshold');
  const rule = readRule(fields, key);
  if (key === '') fields.key.problem('a descriptor needs a non-empty key');
  if (key.includes('*')) fields.key.problem(`key must not contain *, got ${quoted(key)}; patterns stand in value`);
  if (shareThreshold && !value.includes('*')) {
    fields.share_threshold.problem('share_threshold needs a value with *; without one, every value has its own limit');
  }
  for (const name of ['detailed_metric', 'value_to_metric'] as const) fields[name].flag(name);
  const { places } = above;
  const own = { places, name: `${above.name}.${makeLabel(key, value)}`, key: above.key + makeSegment(key, value) };
  const earlier = places.get(own.key);
  if (earlier !== undefined && key !== '') {
    item.problemAtName(`the descriptor ${quoted(own.name)} has been defined at ${earlier}; write it once`);
  }
  places.set(own.key, item.place);
  return {
    ...{ key, value, rule, shareThreshold },
    descriptors: readDescriptors(fields.descriptors, own),
  };
}

/** The rule of a descriptor. Undefined if it has none, or an invalid one, which is reported. */
function readRule(fields: Fields, key: string): RuleData | undefined {
  const common = {
    shadowMode: fields.shadow_mode.flag('shadow_mode'),
    quotaMode: fields.quota_mode.flag('quota_mode'),
    ...readMetadata(fields.metadata),
  };
  if (!fields.sluice.isMissing) {
    if (!fields.rate_limit.isMissing) {
      fields.sluice.problemAtName('a descriptor has rate_limit or sluice, not both; leave one of them out');
    }
    const { name, replaces } = readNames(fields.name, fields.replaces);
    const policy = readSluice(fields.sluice, [name, key]);
    return policy && { name, replaces, policy, rateLimit: undefined, ...common };
  }
  for (const field of ['name', 'replaces'] as const) {
    if (!fields[field].isMissing)
      fields[field].problemAtName(`${field} is only valid beside sluice; write it inside rate_limit`);
  }
  const rate = readRateLimit(fields.rate_limit);
  return rate && { ...rate, ...common };
}

/** Reads `rate_limit`. Undefined if it is missing, or invalid, which is reported. */
function readRateLimit(value: YamlValue): Pick<RuleData, 'name' | 'replaces' | 'rateLimit'> | undefined {
  const fields = value.record(RATE_FIELDS, 'rate_limit', 'unit and requests_per_unit');
  if (!value.isMap) return undefined;
  const names = readNames(fields.name, fields.replaces);
  const isUnlimited = fields.unlimited.flag('unlimited');
  const written = fields.unit.text('unit') ?? '';
  const requestsPerUnit = fields.requests_per_unit.whole('requests_per_unit', 0, MAX_REQUESTS);
  if (isUnlimited) {
    if (written !== '') fields.unit.problem('unit must not be given with unlimited: true; leave one of them out');
    return { ...names, rateLimit: undefined };
  }
  const unit = UNITS.find((one) => one === written.toLowerCase());
  if (unit === undefined) {
    if (fields.unit.isMissing) fields.unit.problem(`rate_limit needs unit: one of ${UNITS.join(', ')}`);
    else fields.unit.problem(`unit must be one of ${UNITS.join(', ')}, got ${quoted(written)}`);
  }
  if (fields.requests_per_unit.isMissing) {
    fields.requests_per_unit.problem('rate_limit needs requests_per_unit; write 0 to deny every request');
  }
  return unit === undefined || requestsPerUnit === undefined
    ? undefined
    : { ...names, rateLimit: { requestsPerUnit, unit } };
}

/** Reads the name of a rule, and the names of those that it replaces. */
function readNames(named: YamlValue, replacing: YamlValue): Pick<RuleData, 'name' | 'replaces'> {
  const name = named.text('name');
  const replaces: string[] = [];
  for (const item of replacing.items('replaces', 'maps with name, such as - name: other')) {
    const field = item.record(['name'], 'an entry of replaces', 'name: and the name of a rule').name;
    if (!item.isMap && !item.isMissing) continue;
    const other = field.text('name') ?? '';
    if (other === '') field.problem('an entry of replaces must not be empty; write - name: and the name of a rule');
    else if (other === name) field.problem(`a rule must not replace itself, got ${quoted(other)}`);
    else replaces.push(other);
  }
  return { name: name === '' ? undefined : name, replaces };
}

/**
 * Reads `sluice`: a policy, a list of several with a name each, or a managed one. Undefined if it is invalid, which is
 * reported.
 *
 * @param names - A policy without a name gets the first valid one of these. It is part of the key.
 */
function readSluice(value: YamlValue, names: readonly (string | undefined)[]): PolicyData | undefined {
  const name = names.find((one) => one !== undefined && isName(one)) ?? 'limit';
  const options = { where: 'sluice', name, mayName: true, noSlots: "Envoy's protocol has no release" };
  return value.isList ? readList(value, { ...options, name: undefined }) : readPolicy(value, options);
}

function readList(value: YamlValue, options: PolicyOptions): PolicyData | undefined {
  const items = value.items('sluice', 'policies');
  const read = items.map((item, i) => {
    const one = readPolicy(item, { ...options, where: `sluice[${String(i)}]` });
    if (one?.managed === undefined) return one;
    item.problem('a managed policy cannot be part of a list');
    return undefined;
  });
  if (items.length === 0) value.problemAtName('sluice must hold a policy, or a list of them, got an empty list');
  const policies = read.flatMap((one) => one?.policies ?? []);
  if (policies.length === 0 || policies.length < items.length) return undefined;
  return { at: value.at, policies };
}

function readMetadata(value: YamlValue): Pick<RuleData, 'metadata'> {
  if (value.isMissing) return {};
  if (value.isMap) return { metadata: value.plain() as Readonly<Record<string, unknown>> };
  value.fields('metadata', 'a map of values');
  return {};
}

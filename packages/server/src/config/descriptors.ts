import type { MakeLimit } from '../limits.ts';
import type { Rule } from './configuration.ts';
import { limitAt } from './policy-value.ts';
import { policyOfRate, readNames, readRateLimit } from './rate-limit.ts';
import type { RuleNode } from './rule-node.ts';
import { readSluice } from './sluice-rule.ts';
import type { Steps } from './steps.ts';
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
const INSIDE = 'write it inside rate_limit';
const ELSEWHERE = { unit: INSIDE, requests_per_unit: INSIDE, unlimited: INSIDE };

type Fields = Readonly<Record<(typeof FIELDS)[number], YamlValue>>;

/** Reads a list of descriptors into the rules below a node. */
export function* readDescriptors(value: YamlValue, parent: RuleNode, makeLimit: MakeLimit): Steps<void> {
  for (const item of value.items('descriptors', 'maps with key, such as - key: remote_address')) {
    yield;
    yield* readDescriptor(item, parent, makeLimit);
  }
}

function* readDescriptor(item: YamlValue, parent: RuleNode, makeLimit: MakeLimit): Steps<void> {
  const fields = item.record(FIELDS, 'a descriptor', 'key: and its name', ELSEWHERE);
  if (!item.isMap && !item.isMissing) return;
  const key = fields.key.text('key') ?? '';
  const value = fields.value.text('value') ?? '';
  const shareThreshold = fields.share_threshold.flag('share_threshold');
  const rule = readRule(fields, key, makeLimit);
  if (key === '') fields.key.problem('a descriptor needs a key that is not empty');
  if (key.includes('*')) fields.key.problem(`key must not contain *, got ${quoted(key)}; patterns stand in value`);
  if (shareThreshold && !value.includes('*')) {
    fields.share_threshold.problem(
      'share_threshold needs a value with *; without one every value is a limit of its own',
    );
  }
  const earlier = parent.child(key, value);
  if (earlier !== undefined && key !== '') {
    item.problemAtName(`the descriptor ${quoted(earlier.name)} has been defined at ${earlier.place}; write it once`);
  }
  const node = parent.add({
    key,
    value,
    rule,
    shareThreshold,
    detailedMetric: fields.detailed_metric.flag('detailed_metric'),
    valueToMetric: fields.value_to_metric.flag('value_to_metric'),
    place: item.place,
  });
  yield* readDescriptors(fields.descriptors, node, makeLimit);
}

/** The rule of a descriptor. Undefined where it has none, or one that cannot be used, which is reported. */
function readRule(fields: Fields, key: string, makeLimit: MakeLimit): Rule | undefined {
  const common = {
    shadowMode: fields.shadow_mode.flag('shadow_mode'),
    quotaMode: fields.quota_mode.flag('quota_mode'),
    ...readMetadata(fields.metadata),
  };
  if (!fields.sluice.isMissing) return readOwn(fields, key, common, makeLimit);
  for (const field of ['name', 'replaces'] as const) {
    if (!fields[field].isMissing) fields[field].problemAtName(`${field} stands beside sluice alone; ${INSIDE}`);
  }
  if (fields.rate_limit.isMissing) return undefined;
  const read = readRateLimit(fields.rate_limit);
  if (read === undefined) return undefined;
  const { rate, name, replaces } = read;
  const limit = rate && limitAt(fields.rate_limit, policyOfRate(rate), makeLimit);
  return { name, limit, rateLimit: rate, replaces, ...common };
}

/** A rule with policies of Sluice. */
function readOwn(
  fields: Fields,
  key: string,
  common: Pick<Rule, 'shadowMode' | 'quotaMode' | 'metadata'>,
  makeLimit: MakeLimit,
): Rule | undefined {
  if (!fields.rate_limit.isMissing) {
    fields.sluice.problemAtName('a descriptor has rate_limit or sluice, not both; leave one of them out');
  }
  const { name, replaces } = readNames(fields.name, fields.replaces);
  const read = readSluice(fields.sluice, [name, key], makeLimit);
  return read && { name, limit: read.limit, rateLimit: undefined, written: read.written, replaces, ...common };
}

function readMetadata(value: YamlValue): Pick<Rule, 'metadata'> {
  if (value.isMissing) return {};
  if (value.isMap) return { metadata: value.plain() as Readonly<Record<string, unknown>> };
  value.fields('metadata', 'a map of values');
  return {};
}

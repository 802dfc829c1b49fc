import { fixedWindow, type Policy } from '@sluice/core';
import { UNITS, type Rule, type Unit } from './configuration.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
/** The lengths that Envoy's units have: a month is 30 days, a year 365. */
const MS_OF_UNIT: Readonly<Record<Unit, number>> = {
  second: SECOND,
  minute: 60 * SECOND,
  hour: 3_600 * SECOND,
  day: DAY,
  week: 7 * DAY,
  month: 30 * DAY,
  year: 365 * DAY,
};
/** Numbers of the protocol have 32 bits. */
const MOST_REQUESTS = 2 ** 32 - 1;
const FIELDS = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces'] as const;
const BESIDE = 'write it beside rate_limit, one level up';
const ELSEWHERE = {
  shadow_mode: BESIDE,
  quota_mode: BESIDE,
  detailed_metric: BESIDE,
  value_to_metric: BESIDE,
  share_threshold: BESIDE,
  descriptors: BESIDE,
  metadata: BESIDE,
};

/** The value of `rate_limit` of a descriptor. */
export interface RateLimit {
  /** Undefined where it is `unlimited`. */
  readonly rate: Rule['rateLimit'];
  readonly name: string | undefined;
  readonly replaces: readonly string[];
}

/**
 * The policy of a rate: a fixed window aligned to the clock, as Envoy's are. It is named by its unit, and the name is
 * part of the key: another unit is another state, another number of requests the same.
 */
export function policyOfRate({ requestsPerUnit, unit }: NonNullable<Rule['rateLimit']>): Policy {
  return fixedWindow({ limit: requestsPerUnit, window: MS_OF_UNIT[unit], align: 'clock', name: unit });
}

/** Reads `rate_limit`. Undefined where it cannot be used, which is reported. */
export function readRateLimit(value: YamlValue): RateLimit | undefined {
  const fields = value.record(FIELDS, 'rate_limit', 'unit and requests_per_unit', ELSEWHERE);
  if (!value.isMap) return undefined;
  const { name, replaces } = readNames(fields.name, fields.replaces);
  const isUnlimited = fields.unlimited.flag('unlimited');
  const written = fields.unit.text('unit') ?? '';
  const requestsPerUnit = fields.requests_per_unit.whole('requests_per_unit', 0, MOST_REQUESTS);
  if (isUnlimited) {
    if (written !== '') fields.unit.problem('unit must not be given with unlimited: true; leave one of them out');
    return { rate: undefined, name, replaces };
  }
  const unit = UNITS.find((one) => one === written.toLowerCase());
  if (unit === undefined) {
    if (fields.unit.isMissing) fields.unit.problem(`rate_limit needs unit: one of ${UNITS.join(', ')}`);
    else fields.unit.problem(`unit must be one of ${UNITS.join(', ')}, got ${quoted(written)}`);
  }
  if (fields.requests_per_unit.isMissing) {
    fields.requests_per_unit.problem('rate_limit needs requests_per_unit; write 0 to deny every request');
  }
  if (unit === undefined || requestsPerUnit === undefined) return undefined;
  return { rate: { requestsPerUnit, unit }, name, replaces };
}

/** Reads the name of a rule, and the names of those that it replaces. */
export function readNames(named: YamlValue, replacing: YamlValue): { name: string | undefined; replaces: string[] } {
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

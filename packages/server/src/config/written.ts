import type { Configuration, Rule } from './configuration.ts';
import type { KeyOverride } from './key-overrides.ts';
import type { DomainRules } from './rule-tree.ts';

/**
 * The rules as text, one a line, as envoyproxy/ratelimit writes its `/rlconfig`:
 * `domain.key_value: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false`.
 */
export function written(
  domains: readonly DomainRules[],
  { limits, forwardAuth, sentinel }: Pick<Configuration, 'limits' | 'forwardAuth' | 'sentinel'>,
): string {
  const lines = [
    ...domains.flatMap((rules) => [...rules.rules()].map(({ name, rule }) => `${name}: ${writtenRule(rule)}`)),
    ...[...limits.values()].flatMap(({ name, written: policies, overrides }) => [
      `limits.${name}: ${policies}`,
      ...overrides.map((override) => `limits.${name} ${writtenOverride(override)}`),
    ]),
    ...(forwardAuth?.rules ?? []).map(({ name, written: policies }) => `forward_auth.${name}: ${policies}`),
    ...[...sentinel.flows.values(), ...sentinel.params.values()].map(
      (rule) => `sentinel.${rule.name}: ${rule.written()}`,
    ),
  ];
  return lines.map((line) => `${line.replaceAll(/\p{Control}/gu, ' ')}\n`).join('');
}

/** `for "org-7:*": fixedWindow 50 per 1m, until 2027-01-01T00:00:00.000Z`. */
function writtenOverride({ kind, text, written: policies, untilMs }: KeyOverride): string {
  const end = untilMs === Infinity ? '' : `, until ${new Date(untilMs).toISOString()}`;
  return `for ${JSON.stringify(kind === 'key' ? text : `${text}*`)}: ${policies}${end}`;
}

function writtenRule({ rateLimit, written: policies, shadowMode, quotaMode }: Rule): string {
  const modes = `shadow_mode: ${String(shadowMode)}, quota_mode: ${String(quotaMode)}`;
  if (policies !== undefined) return `sluice=${JSON.stringify(policies)}, ${modes}`;
  if (rateLimit === undefined) return `unit=UNKNOWN requests_per_unit=0, ${modes}, unlimited: true`;
  return `unit=${rateLimit.unit.toUpperCase()} requests_per_unit=${String(rateLimit.requestsPerUnit)}, ${modes}`;
}

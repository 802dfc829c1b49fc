import type { Configuration } from './configuration.ts';
import type { KeyOverride } from './configuration-data.ts';
import type { Rule } from './rule-node.ts';

/**
 * The rules as text, one a line, as envoyproxy/ratelimit writes its `/rlconfig`:
 * `domain.key_value: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false`. It holds no values of
 * requests.
 */
export function writeConfiguration(configuration: Configuration): string {
  return writeRules(configuration)
    .map((rule) => `${rule.join(': ')}\n`)
    .join('');
}

type Line = readonly [name: string, text: string];

function writeRules({ domains, limits, forwardAuth, sentinel }: Configuration): readonly Line[] {
  const rules: Line[] = [];
  for (const root of domains.values()) for (const { name, rule } of root.rules()) rules.push([name, writeRule(rule)]);
  for (const { name, policy, overrides } of limits.values()) {
    rules.push([`limits.${name}`, policy.written]);
    for (const override of overrides) rules.push([`limits.${name} ${writeTarget(override)}`, writeOverride(override)]);
  }
  for (const { name, policy } of forwardAuth?.rules ?? []) {
    rules.push([`forward_auth.${name}`, policy?.written ?? 'skip']);
  }
  for (const rule of [...sentinel.flows.values(), ...sentinel.params.values()]) {
    rules.push([`sentinel.${rule.name}`, rule.written()]);
  }
  return rules.map(([name, text]) => [inOneLine(name), inOneLine(text)]);
}

/** Rules that a line of the log names. */
const MAX_SHOWN = 10;

/** The changes of a new configuration, in a line: `limits.login: before -> after`, and rules that came or went. */
export function writeChanges(before: Configuration, after: Configuration): string {
  const [old, now] = [new Map(writeRules(before)), new Map(writeRules(after))];
  const changes = [...now].flatMap(([name, rule]) => {
    const was = old.get(name);
    if (was === rule) return [];
    return [was === undefined ? `${name}: ${rule} is new` : `${name}: ${was} -> ${rule}`];
  });
  for (const name of old.keys()) if (!now.has(name)) changes.push(`${name} is gone`);
  if (changes.length === 0) return 'no rule changed';
  const more = changes.length - MAX_SHOWN;
  return changes.slice(0, MAX_SHOWN).join('; ') + (more > 0 ? `; and ${String(more)} more` : '');
}

function inOneLine(text: string): string {
  return text.replaceAll(/\p{Control}/gu, ' ');
}

/** `for "org-7:*"`. */
function writeTarget({ kind, text }: KeyOverride): string {
  return `for ${JSON.stringify(kind === 'key' ? text : `${text}*`)}`;
}

/** `fixedWindow 50 per 1m, until 2027-01-01T00:00:00.000Z`. */
function writeOverride({ policy, untilMs }: KeyOverride): string {
  return policy.written + (untilMs === Infinity ? '' : `, until ${new Date(untilMs).toISOString()}`);
}

function writeRule({ rateLimit, policy, shadowMode, quotaMode }: Rule): string {
  const modes = `shadow_mode: ${String(shadowMode)}, quota_mode: ${String(quotaMode)}`;
  if (policy !== undefined) return `sluice=${JSON.stringify(policy.written)}, ${modes}`;
  if (rateLimit === undefined) return `unit=UNKNOWN requests_per_unit=0, ${modes}, unlimited: true`;
  return `unit=${rateLimit.unit.toUpperCase()} requests_per_unit=${String(rateLimit.requestsPerUnit)}, ${modes}`;
}

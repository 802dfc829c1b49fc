import type { Limit } from '@sluice/core/spi';
import type { Configuration } from './configuration.ts';

/** How many limits operators are shown. */
const MOST_KNOWN = 1_000;

/** The limits of a configuration, named ones first. */
export function knownLimits({ domains, limits }: Configuration): Limit[] {
  const known = [...limits.values()].map(({ limit }) => limit);
  for (const rules of domains.values()) {
    for (const { rule } of rules.rules()) {
      if (known.length >= MOST_KNOWN) return known.slice(0, MOST_KNOWN);
      if (rule.limit !== undefined) known.push(rule.limit);
    }
  }
  return known.slice(0, MOST_KNOWN);
}

/** The limits of rules in shadow mode, whose denials deny no request. */
export function shadowLimits({ domains }: Configuration): ReadonlySet<Limit> {
  const found = new Set<Limit>();
  for (const rules of domains.values()) {
    for (const { rule } of rules.rules()) if (rule.shadowMode && rule.limit !== undefined) found.add(rule.limit);
  }
  return found;
}

import type { Limit } from '@sluice/core';
import type { Match, RuleTree } from '@sluice/server/configuration';
import { UsageError } from '../terminal/failure.ts';
import { costSpec } from '../keys/cost-spec.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import { limitOf, type Candidate, type CandidateLimit, type SelectedLimit } from './candidate.ts';
import type { CandidateContext } from './from-text.ts';

/** `--descriptor`, each as `remote_address=ip,path=path`: the entries of a descriptor that Envoy sends. */
export type DescriptorTexts = readonly string[];

/** An entry of a descriptor: its value is a text, or read from each request. */
interface EntryReader {
  readonly key: string;
  readonly value: (entry: LogEntry) => string | undefined;
}

/** Rules that a log has met; further ones are not counted apart. */
const MOST_RULES = 10_000;

/** A candidate for each domain of Envoy's rules, over the descriptors that are described. */
export function descriptorCandidates(
  domains: ReadonlyMap<string, RuleTree>,
  texts: DescriptorTexts,
  { keyOf }: CandidateContext,
): readonly Candidate[] {
  if (texts.length === 0) return [];
  const descriptors = texts.map((text) => text.split(',').map((part) => entryReader(part, text, keyOf)));
  return [...domains].map(([domain, tree]) => domainCandidate(domain, tree, descriptors));
}

/** The value is `ip`, `method` and so on, as a part of a key, or `'text'` in quotes. */
function entryReader(part: string, text: string, keyOf: (text: string) => KeySpec): EntryReader {
  const [key = '', source = ''] = part.trim().split('=', 2);
  if (key === '' || source === '') {
    throw new UsageError(
      `--descriptor must be entries such as remote_address=ip,generic_key='login', got ${JSON.stringify(text)}`,
    );
  }
  const literal = /^'(.*)'$/.exec(source)?.[1];
  const spec = literal === undefined ? keyOf(source) : undefined;
  return { key, value: (entry) => literal ?? spec?.read(entry) };
}

/** The key of a rule of a descriptor, and the index of its limit in the candidate. */
interface RulePlace {
  readonly place: number;
  /** By request, found when it is selected. */
  readonly subjects: WeakMap<LogEntry, string>;
}

/** The limits that the service decides together for a request; see `planOf` and `Attempt` there. */
function domainCandidate(domain: string, tree: RuleTree, descriptors: readonly (readonly EntryReader[])[]): Candidate {
  const limits: CandidateLimit[] = [];
  /** Rules are found by request, so that the limits of the candidate grow as the log meets them. */
  const places = descriptors.map(() => new Map<Limit, RulePlace>());
  const placeOf = (descriptor: number, limit: Limit, metric: string): RulePlace | undefined => {
    let found = places[descriptor]?.get(limit);
    if (found === undefined && limits.length < MOST_RULES) {
      found = { place: limits.length, subjects: new WeakMap() };
      places[descriptor]?.set(limit, found);
      limits.push(limitOfRule(`${domain} ${String(found.place)} ${metric}`, metric, limit, found));
    }
    return found;
  };
  return {
    text: `descriptors of ${domain}`,
    limits,
    select: (entry) => {
      const matches = matchesOf(tree, descriptors, entry);
      const isQuotaMet = matches.some(({ match: { rule } }) => rule.shadowMode && rule.quotaMode);
      return matches.flatMap(({ descriptor, match: { rule, subject, metric } }): readonly SelectedLimit[] => {
        // A rule in shadow mode never denies, and takes nothing of the others.
        const found = rule.shadowMode ? undefined : placeOf(descriptor, rule.limit as Limit, metric);
        if (found === undefined) return [];
        found.subjects.set(entry, subject);
        return [{ place: found.place, mode: !rule.quotaMode ? 'enforced' : isQuotaMet ? 'taken' : 'quota' }];
      });
    },
  };
}

/** The rules with a limit that apply to a request, with the places of their descriptors. */
function matchesOf(
  tree: RuleTree,
  descriptors: readonly (readonly EntryReader[])[],
  entry: LogEntry,
): readonly { readonly descriptor: number; readonly match: Match }[] {
  const matches = descriptors.flatMap((readers, descriptor) => {
    const match = matchOf(tree, readers, entry);
    return match === undefined ? [] : [{ descriptor, match }];
  });
  const replaced = new Set(matches.flatMap(({ match }) => match.rule.replaces));
  return matches.filter(
    ({ match: { rule } }) => rule.limit !== undefined && !(rule.name !== undefined && replaced.has(rule.name)),
  );
}

function matchOf(tree: RuleTree, descriptor: readonly EntryReader[], entry: LogEntry): Match | undefined {
  const entries: { key: string; value: string }[] = [];
  for (const { key, value } of descriptor) {
    const found = value(entry);
    if (found === undefined) return undefined;
    entries.push({ key, value: found });
  }
  return tree.match(entries);
}

function limitOfRule(id: string, metric: string, limit: Limit, { subjects }: RulePlace): CandidateLimit {
  const key: KeySpec = {
    text: `descriptor ${id}`,
    needsRoutes: false,
    addressBits: undefined,
    read: (entry) => subjects.get(entry),
  };
  return { limit: limitOf(limit.policies), key, cost: costSpec('1'), text: metric };
}

import type { Limit } from '@sluice/core';
import type { RuleTree } from '@sluice/server/configuration';
import { UsageError } from '../../failure.ts';
import { costSpec } from '../keys/cost-spec.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../read/log-entry.ts';
import { limitOf, type Candidate, type CandidateLimit } from './candidate.ts';
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

/** Rules are found by request, so that the limits of the candidate grow as the log meets them. Shadow rules never deny. */
function domainCandidate(domain: string, tree: RuleTree, descriptors: readonly (readonly EntryReader[])[]): Candidate {
  const limits: CandidateLimit[] = [];
  const places = new Map<Limit, number>();
  const subjects = new WeakMap<LogEntry, Map<Limit, string>>();
  return {
    text: `descriptors of ${domain}`,
    limits,
    select: (entry) => {
      const found = new Map<Limit, string>();
      for (const descriptor of descriptors) {
        const entries = descriptor.map(({ key, value }) => ({ key, value: value(entry) }));
        if (entries.some(({ value }) => value === undefined)) continue;
        const match = tree.match(entries as { key: string; value: string }[]);
        const limit = match?.rule.limit as Limit | undefined;
        if (match === undefined || limit === undefined || match.rule.shadowMode) continue;
        found.set(limit, match.subject);
        if (!places.has(limit) && limits.length < MOST_RULES) {
          places.set(limit, limits.length);
          limits.push(limitOfRule(`${domain} ${String(limits.length)} ${match.metric}`, match.metric, limit, subjects));
        }
      }
      subjects.set(entry, found);
      return [...found.keys()].flatMap((limit) => places.get(limit) ?? []);
    },
  };
}

function limitOfRule(
  id: string,
  metric: string,
  limit: Limit,
  subjects: WeakMap<LogEntry, Map<Limit, string>>,
): CandidateLimit {
  const key: KeySpec = {
    text: `descriptor ${id}`,
    needsRoutes: false,
    addressBits: undefined,
    read: (entry) => subjects.get(entry)?.get(limit),
  };
  return { limit: limitOf(limit.policies), key, cost: costSpec('1'), text: metric };
}

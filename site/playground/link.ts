import { writeDuration } from '@sluice/core/spi';
import { FRAMEWORKS } from './code.ts';
import { parsePaste, writePaste } from './paste.ts';
import { MAX_POLICIES, findKind, withNames, type PolicyChoice } from './policies.ts';
import { KEY_CHOICES, STORE_CHOICES, initialScenario, readMs, type Scenario } from './scenario.ts';
import { HEADER_CHOICES } from './shown.ts';
import { COLUMNS, MAX_CLIENTS, MAX_COST, MAX_IN_COLUMN, RETRY_CHOICES, SPANS_MS, type Traffic } from './traffic.ts';

/** Increased when links of the previous version would change their meaning. */
const VERSION = '1';
/** Longer pasted traffic is left out, because chats and mail break longer links. */
const MAX_LOG = 24_000;
const MAX_VALUE = 80;
const MAX_RUN_MS = 86_400_000;
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Choices among a few values. */
const CHOICES = { key: KEY_CHOICES, store: STORE_CHOICES, headers: HEADER_CHOICES, framework: FRAMEWORKS };

/** A scenario as the fragment of a link, without `#`. Traffic that was pasted and is too long for a link is left out. */
export function writeLink(scenario: Scenario): { readonly link: string; readonly isComplete: boolean } {
  const { policies, traffic, client, request, key, store, headers, framework } = scenario;
  const bars =
    traffic.from === 'painted'
      ? { span: writeDuration(traffic.spanMs), bars: traffic.clients.map(writeBars).join('.'), cost: traffic.cost }
      : {};
  const log = traffic.from === 'pasted' ? writePaste(traffic).replaceAll('\n', '*') : '';
  const isComplete = log.length <= MAX_LOG;
  const fields = new URLSearchParams({ v: VERSION });
  for (const policy of policies) fields.append('p', writePolicy(policy));
  const further = {
    ...bars,
    ...(log !== '' && isComplete && { log }),
    ...{ runs: writeDuration(traffic.runsMs), retry: traffic.retries, key, store, headers, framework },
    ...(client > 0 && { client }),
    ...(request !== undefined && { at: request }),
  };
  for (const [name, value] of Object.entries(further)) fields.append(name, String(value));
  return { link: fields.toString(), isComplete };
}

/**
 * The scenario of a link. Whatever the link contains, the result works: parts that cannot be read keep their initial
 * value, and are named in `problems`.
 */
export function readLink(fragment: string): { readonly scenario: Scenario; readonly problems: readonly string[] } {
  const initial = initialScenario();
  const fields = new URLSearchParams(fragment.replace(/^#/, ''));
  if (!fields.has('v')) return { scenario: initial, problems: [] };
  if (fields.get('v') !== VERSION) {
    return { scenario: initial, problems: ['This link is of another version of the playground.'] };
  }
  const problems: string[] = [];
  const orInitial = <T>(what: string, value: T | undefined, otherwise: T): T => {
    if (value === undefined) problems.push(`The ${what} of this link could not be read.`);
    return value ?? otherwise;
  };
  const policies = orInitial('policies', readPolicies(fields.getAll('p')), initial.policies);
  const hasTraffic = fields.has('bars') || fields.has('log');
  const traffic = hasTraffic ? orInitial('traffic', readTraffic(fields), initial.traffic) : initial.traffic;
  const chosen = Object.entries(CHOICES).map(([name, choices]) => {
    const otherwise = initial[name as keyof typeof CHOICES];
    const given = fields.get(name) ?? otherwise;
    return [name, orInitial(name, choices.find(({ id }) => id === given)?.id, otherwise)] as const;
  });
  return {
    scenario: {
      ...initial,
      ...Object.fromEntries(chosen),
      policies,
      traffic,
      client: Math.min(readNumber(fields.get('client')) ?? 0, traffic.clients.length - 1),
      request: readNumber(fields.get('at')),
    },
    problems,
  };
}

/** `kind*field*value*field*value`: none of these is escaped in a fragment. */
function writePolicy({ kind, values }: PolicyChoice): string {
  const fields = Object.entries(values).filter(([, value]) => value !== '');
  return [kind, ...fields.flat()].map((text) => text.replaceAll('*', '').slice(0, MAX_VALUE)).join('*');
}

function readPolicies(written: readonly string[]): readonly PolicyChoice[] | undefined {
  const policies = written.flatMap((text) => {
    const [id = '', ...rest] = text.split('*');
    const kind = findKind(id);
    if (kind === undefined || text.length > MAX_VALUE * 12) return [];
    const values: Record<string, string> = {};
    for (let i = 0; i < rest.length; i += 2) {
      const field = kind.fields.find(({ name }) => name === rest[i]);
      if (field !== undefined) values[field.name] = rest[i + 1] ?? '';
    }
    return [{ kind: id, values }];
  });
  const isWhole = policies.length === written.length && policies.length > 0 && policies.length <= MAX_POLICIES;
  return isWhole ? withNames(policies) : undefined;
}

function readTraffic(fields: URLSearchParams): Traffic | undefined {
  const runsMs = readMs(fields.get('runs') ?? '1s');
  const retries = RETRY_CHOICES.find(({ id }) => id === (fields.get('retry') ?? 'none'))?.id;
  if (runsMs === undefined || runsMs > MAX_RUN_MS || retries === undefined) return undefined;
  const log = fields.get('log');
  if (log !== null) {
    const { traffic, notes } = parsePaste(log.replaceAll('*', '\n'));
    return traffic && notes.length === 0 ? { ...traffic, runsMs, retries } : undefined;
  }
  const spanMs = readMs(fields.get('span') ?? '1m');
  const cost = readNumber(fields.get('cost') ?? '1');
  const clients = readBars(fields.get('bars') ?? '');
  if (spanMs === undefined || !SPANS_MS.includes(spanMs) || clients === undefined) return undefined;
  if (cost === undefined || cost < 1 || cost > MAX_COST) return undefined;
  return { from: 'painted', spanMs, clients, cost, runsMs, retries };
}

/** A row of bars: a character for each column, without trailing zeros. */
function writeBars(counts: readonly number[]): string {
  return counts
    .map((count) => DIGITS.charAt(count))
    .join('')
    .replace(/0+$/, '');
}

function readBars(text: string): readonly (readonly number[])[] | undefined {
  const clients = text.split('.').map((row) => Array.from(row.padEnd(COLUMNS, '0'), (digit) => DIGITS.indexOf(digit)));
  const isRight = clients.every(
    (counts) => counts.length === COLUMNS && counts.every((count) => count >= 0 && count <= MAX_IN_COLUMN),
  );
  return isRight && clients.length <= MAX_CLIENTS ? clients : undefined;
}

function readNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

import { parseDuration, writeDuration } from '@sluice/core/spi';
import { FRAMEWORKS } from './code/frameworks.ts';
import { readBars, readRequests, writeBars, writeRequests } from './link-traffic.ts';
import { MOST_POLICIES, withNames, type PolicyChoice } from './policies.ts';
import { kindOf } from './policy-kinds.ts';
import { HEADER_CHOICES } from './response.ts';
import { KEY_CHOICES, STORE_CHOICES, initialScenario, type Scenario } from './scenario.ts';
import { RETRY_CHOICES, SPANS_MS, type Traffic } from './traffic.ts';

/** The state that a link contains, and what could not be read of it. */
export interface LinkRead {
  readonly scenario: Scenario;
  readonly problems: readonly string[];
}

/** Raised when a link of the one before means something else. */
const VERSION = '1';
/** The longest link that browsers, chats and mail carry without harm. */
const LONGEST_LINK = 16_000;
const LONGEST_VALUE = 80;
const LONGEST_RUN_MS = 86_400_000;
const MOST_COST = 1_000_000;

/**
 * A scenario as the fragment of a link, without `#`. Traffic that was pasted and is too long for a link is left out.
 */
export function writeLink(scenario: Scenario): { readonly link: string; readonly isComplete: boolean } {
  const fields = new URLSearchParams({ v: VERSION });
  for (const policy of scenario.policies) fields.append('p', writePolicy(policy));
  const traffic = trafficFields(scenario.traffic);
  const isComplete = traffic.toString().length <= LONGEST_LINK;
  if (isComplete) for (const [name, value] of traffic) fields.append(name, value);
  fields.append('key', scenario.key);
  fields.append('store', scenario.store);
  fields.append('headers', scenario.headers);
  fields.append('in', scenario.framework);
  if (scenario.client > 0) fields.append('client', String(scenario.client));
  if (scenario.request !== undefined) fields.append('at', String(scenario.request));
  return { link: fields.toString(), isComplete };
}

/**
 * The scenario of a link. Whatever the link contains, the result is one that works: what cannot be read has its value
 * from the start, and is named in `problems`.
 */
export function readLink(fragment: string): LinkRead {
  const initial = initialScenario();
  const fields = new URLSearchParams(fragment.replace(/^#/, ''));
  if (!fields.has('v')) return { scenario: initial, problems: [] };
  if (fields.get('v') !== VERSION) {
    return { scenario: initial, problems: ['This link is of another version of the playground.'] };
  }
  const problems: string[] = [];
  const read = <T>(what: string, value: T | undefined, otherwise: T): T => {
    if (value === undefined) problems.push(`The ${what} of this link could not be read.`);
    return value ?? otherwise;
  };
  const choice = <T extends string>(name: string, what: string, ids: readonly T[], otherwise: T): T => {
    const given = fields.get(name);
    return given === null
      ? otherwise
      : read(
          what,
          ids.find((id) => id === given),
          otherwise,
        );
  };

  const policies = read('policies', readPolicies(fields.getAll('p')), initial.policies);
  const hasTraffic = fields.has('bars') || fields.has('log');
  const traffic = hasTraffic ? read('traffic', readTraffic(fields), initial.traffic) : initial.traffic;
  return {
    scenario: {
      policies,
      traffic,
      key: choice(
        'key',
        'key',
        KEY_CHOICES.map(({ id }) => id),
        initial.key,
      ),
      store: choice(
        'store',
        'store',
        STORE_CHOICES.map(({ id }) => id),
        initial.store,
      ),
      headers: choice(
        'headers',
        'header format',
        HEADER_CHOICES.map(({ id }) => id),
        initial.headers,
      ),
      framework: choice(
        'in',
        'framework',
        FRAMEWORKS.map(({ id }) => id),
        initial.framework,
      ),
      client: Math.min(wholeNumber(fields.get('client')) ?? 0, traffic.clients.length - 1),
      request: wholeNumber(fields.get('at')),
    },
    problems,
  };
}

/** `kind*name*field*value*field*value`: none of these is escaped in a fragment. */
function writePolicy({ kind, name, values }: PolicyChoice): string {
  const fields = Object.entries(values).filter(([, value]) => value !== '');
  return [kind, name, ...fields.flat()].map((text) => text.replaceAll('*', '').slice(0, LONGEST_VALUE)).join('*');
}

function readPolicies(written: readonly string[]): readonly PolicyChoice[] | undefined {
  if (written.length === 0 || written.length > MOST_POLICIES) return undefined;
  const policies = written.map(readPolicy);
  return policies.every((policy) => policy !== undefined) ? withNames(policies) : undefined;
}

function readPolicy(written: string): PolicyChoice | undefined {
  const [id = '', name = '', ...rest] = written.split('*');
  const kind = kindOf(id);
  if (kind === undefined || written.length > LONGEST_VALUE * 12) return undefined;
  const given = new Map(
    rest.flatMap((field, i): [string, string][] => (i % 2 === 0 ? [[field, rest[i + 1] ?? '']] : [])),
  );
  const fields = kind.fields.filter((field) => given.has(field.name));
  return {
    kind: id,
    name,
    values: Object.fromEntries(fields.map((field) => [field.name, given.get(field.name) ?? ''])),
  };
}

function trafficFields(traffic: Traffic): URLSearchParams {
  const retry: Readonly<Record<string, string>> = traffic.retries === undefined ? {} : { retry: traffic.retries };
  if (traffic.from === 'pasted') {
    return new URLSearchParams({ span: writeDuration(traffic.spanMs), ...writeRequests(traffic), ...retry });
  }
  const { spanMs, cost, runsMs, clients } = traffic;
  return new URLSearchParams({
    span: writeDuration(spanMs),
    bars: clients.map(writeBars).join('.'),
    ...(cost === 1 ? {} : { cost: String(cost) }),
    runs: writeDuration(runsMs),
    ...retry,
  });
}

function readTraffic(fields: URLSearchParams): Traffic | undefined {
  const spanMs = durationOf(fields.get('span'));
  const runsMs = durationOf(fields.get('runs') ?? '1s');
  if (spanMs === undefined || runsMs === undefined || runsMs > LONGEST_RUN_MS) return undefined;
  const given = fields.get('retry');
  const choice = RETRY_CHOICES.find(({ id }) => id === (given ?? 'none'));
  if (choice === undefined) return undefined;
  const retries = choice.id === 'none' ? {} : { retries: choice.id };
  const log = fields.get('log');
  if (log !== null) {
    const pasted = readRequests(log, fields.get('keys') ?? '', { spanMs, runsMs });
    return pasted && { ...pasted, ...retries };
  }
  const cost = wholeNumber(fields.get('cost') ?? '1');
  const clients = readBars(fields.get('bars') ?? '');
  if (!SPANS_MS.includes(spanMs) || cost === undefined || cost < 1 || cost > MOST_COST) return undefined;
  return clients && { from: 'painted', spanMs, clients, cost, runsMs, ...retries };
}

function durationOf(text: string | null): number | undefined {
  try {
    return parseDuration(text, 'span');
  } catch {
    return undefined;
  }
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

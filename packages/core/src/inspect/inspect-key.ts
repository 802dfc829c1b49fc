import { algorithmOf, type Policy } from '../algorithms/index.ts';
import { keyScope } from '../key.ts';
import { listed } from '../options.ts';
import { namePolicy, type NamedPolicy } from '../policy.ts';
import { remembered } from '../stores/escalation.ts';
import { readValue } from '../stores/redis/value.ts';
import { inspectManaged } from './inspect-managed.ts';
import { detailKeyOf, ownerOfDetails, readKeyText, type KeyText } from './key-text.ts';
import { isOfAnother, reportPolicy, type KnownPolicy } from './report-policy.ts';
import type { KeyReport } from './report.ts';

/** What is known beside the key itself: where it comes from, and the numbers that count it. */
export interface InspectOptions {
  /** The `prefix` of the store. Default `sluice`. */
  readonly prefix?: string;
  /**
   * Policies of limiters, whose numbers no key tells: one with a name is that of policies of this name and kind, one
   * without of all others of its kind.
   */
  readonly policies?: readonly Policy[];
  /** The records of managed policies by their names, as a `PolicySource` answers them. Default: none. */
  readonly records?: Readonly<Record<string, unknown>>;
}

/**
 * Reads a key and its value, as GET answers it, at an instant of the server's clock. Asks nothing and writes nothing.
 *
 * @throws PolicyError when one of `policies` is none.
 */
export function inspectKey(key: string, value: string, atMs: number, options: InspectOptions = {}): KeyReport {
  const { prefix = 'sluice', policies = [], records = {} } = options;
  const owner = ownerOfDetails(key, prefix);
  if (owner !== undefined) {
    return unread(
      key,
      undefined,
      NOTHING,
      `it holds the details of ${owner}: inspect that key, which says how much is used`,
    );
  }
  const text = readKeyText(key, prefix);
  if (text === undefined) {
    return unread(key, undefined, NOTHING, 'this is no key of a limiter, or that of a newer version of Sluice');
  }
  if (text.isManaged) {
    return inspectManaged(key, text, value, atMs, Object.hasOwn(records, text.owner) ? records[text.owner] : undefined);
  }
  const known = text.policies?.map((policy) => numbersOf(policy, policies)) ?? hashedList(key, text, policies);
  if (known === undefined) {
    return unread(
      key,
      text,
      aheadOfStates(key, value, atMs),
      'the names of its policies are too long to stand in the key: give the policies with their names, in the order of the limiter',
    );
  }
  const read = readValue(value, key, { policies: known.map(decodable) });
  if (read instanceof Error) return unread(key, text, NOTHING, 'it holds something else than its policies write');
  const isBlocked = read.blockedUntilMs > atMs;
  return {
    key,
    subject: text.subject,
    limiter: text.owner,
    blockedUntilMs: isBlocked ? read.blockedUntilMs : null,
    refusals: remembered(read.refusals, atMs) ?? null,
    policies: known.map((policy, j) =>
      reportPolicy(policy, read.states[j], { isBlocked, atMs, detailKey: detailKeyOf(key, policy.algorithm, j) }),
    ),
    problem: strangers(known.filter((policy, j) => isOfAnother(policy, read.states[j], atMs))),
  };
}

function strangers(policies: readonly KnownPolicy[]): string | null {
  if (policies.length === 0) return null;
  const names = listed(policies.map(({ name }) => name));
  return `the state of ${names} lasts longer than the policy given can make it last by what it admits: another policy wrote it, or more was charged afterwards`;
}

function numbersOf({ name, algorithm }: Omit<KnownPolicy, 'policy'>, given: readonly Policy[]): KnownPolicy {
  const same = given.filter((policy) => algorithmOf(policy) === algorithm);
  const policy = same.find((one) => one.name === name) ?? same.find((one) => one.name === undefined);
  return { name, algorithm, policy: policy === undefined ? undefined : algorithm.parse(policy) };
}

/** The given policies, or one of them, where the digest in the key is theirs. */
function hashedList(key: string, { owner }: KeyText, given: readonly Policy[]): readonly NamedPolicy[] | undefined {
  const named = given.map((policy) => namePolicy(policy, policy.name ?? owner));
  return [named, ...named.map((policy) => [policy])].find((list) => key.endsWith(keyScope(owner, list)));
}

/** Values are read by algorithms alone; numbers are not asked for. */
function decodable({ name, algorithm }: KnownPolicy): NamedPolicy {
  return { name, algorithm, policy: { algorithm: algorithm.name }, windowMs: 0 };
}

type AheadOfStates = Pick<KeyReport, 'blockedUntilMs' | 'refusals'>;

const NOTHING: AheadOfStates = { blockedUntilMs: null, refusals: null };

/** What a value says whatever its policies are. */
function aheadOfStates(key: string, value: string, atMs: number): AheadOfStates {
  const [ahead = ''] = /^(?:!\d+!)?(?:\^[\d:]+\^)?/.exec(value) ?? [];
  const read = readValue(ahead, key, { policies: [] });
  if (read instanceof Error) return NOTHING;
  return {
    blockedUntilMs: read.blockedUntilMs > atMs ? read.blockedUntilMs : null,
    refusals: remembered(read.refusals, atMs) ?? null,
  };
}

function unread(key: string, text: KeyText | undefined, ahead: AheadOfStates, problem: string): KeyReport {
  const { subject = null, owner: limiter = null } = text ?? {};
  return { key, subject, limiter, ...ahead, policies: [], problem };
}

import type { Policy } from '../algorithms/index.ts';
import { algorithmOf } from '../algorithms/registry.ts';
import { keySuffixOf } from '../engine/key.ts';
import { listed } from '../values/hint.ts';
import { namePolicy, type NamedPolicy } from '../engine/policy.ts';
import { remembered } from '../engine/denial-count.ts';
import { readValue } from '../stores/redis/value.ts';
import { inspectSource, NO_DEFINITIONS, type Definitions } from './inspect-source.ts';
import { externalStateKeyOf, ownerOfExternalState, readKeyText, type KeyText } from './key-text.ts';
import { isWrittenByAnother, reportPolicy, type KnownPolicy } from './report-policy.ts';
import type { KeyReport } from './report.ts';

/** Facts that a key does not hold: the prefix of its store, and the numbers of its policies. */
export interface InspectOptions {
  /** The `prefix` of the store. */
  readonly prefix: string;
  /**
   * Policies of limiters, because a key does not hold their numbers. A policy with a name applies to the policy of
   * this name and kind. One without a name applies to all others of its kind.
   */
  readonly policies?: readonly Policy[];
  /** What managed policies are at present: `definitionsOf(records)` of `@sluice/core/managed`. Default: there are none. */
  readonly definitions?: Definitions;
}

/**
 * Reports what a key holds, from its value as GET returns it, at an instant of the server's clock. Sends nothing.
 *
 * @throws PolicyError if one of `policies` is invalid.
 */
export function inspectKey(key: string, value: string, atMs: number, options: InspectOptions): KeyReport {
  const { prefix, policies = [], definitions = NO_DEFINITIONS } = options;
  const owner = ownerOfExternalState(key, prefix);
  if (owner !== undefined) {
    return unread(
      key,
      undefined,
      NO_HEADER,
      `it holds the external state of ${owner}: inspect that key, which holds the units used`,
    );
  }
  const text = readKeyText(key, prefix);
  if (text === undefined) {
    return unread(key, undefined, NO_HEADER, 'this is not a key of a limiter, or one of another version of Sluice');
  }
  if (text.isManaged) return inspectSource(key, text, value, atMs, definitions);
  const known = inspectedPolicies(key, text, policies);
  if (known === undefined) {
    return unread(
      key,
      text,
      readHeader(key, value, atMs),
      'the names of its policies are too long for the key: give the policies with their names, in the order of the limiter',
    );
  }
  const read = readValue(value, key, { policies: known.map(decodable) });
  if (read instanceof Error) return unread(key, text, NO_HEADER, 'its value is not one that its policies write');
  const isBlocked = read.blockedUntilMs > atMs;
  return {
    key,
    subject: text.subject,
    limiter: text.owner,
    blockedUntilMs: isBlocked ? read.blockedUntilMs : null,
    denials: remembered(read.denials, atMs) ?? null,
    policies: known.map((policy, j) =>
      reportPolicy(policy, read.states[j], {
        isBlocked,
        atMs,
        detailKey: externalStateKeyOf(key, policy.algorithm, j),
      }),
    ),
    problem: foreignStateProblem(known.filter((policy, j) => isWrittenByAnother(policy, read.states[j], atMs))),
  };
}

/** The policies of a key, with their numbers where they are given. Undefined where the key holds only their digest. */
function inspectedPolicies(key: string, text: KeyText, given: readonly Policy[]): readonly KnownPolicy[] | undefined {
  return text.policies?.map((policy) => numbersOf(policy, given)) ?? policiesByDigest(key, text, given);
}

function foreignStateProblem(policies: readonly KnownPolicy[]): string | null {
  if (policies.length === 0) return null;
  const names = listed(policies.map(({ name }) => name));
  return `the state of ${names} lasts longer than the given policy can make it last: another policy wrote it, or more was charged afterwards`;
}

function numbersOf({ name, algorithm }: Omit<KnownPolicy, 'policy'>, given: readonly Policy[]): KnownPolicy {
  const same = given.filter((policy) => algorithmOf(policy) === algorithm);
  const policy = same.find((one) => one.name === name) ?? same.find((one) => one.name === undefined);
  return { name, algorithm, policy: policy === undefined ? undefined : algorithm.parse(policy) };
}

/** The given policies, or one of them, if the digest in the key is theirs. */
function policiesByDigest(
  key: string,
  { owner }: KeyText,
  given: readonly Policy[],
): readonly NamedPolicy[] | undefined {
  const named = given.map((policy) => namePolicy(policy, policy.name ?? owner));
  return [named, ...named.map((policy) => [policy])].find((list) => key.endsWith(keySuffixOf(owner, list)));
}

/** A policy without numbers: reading a value needs only the algorithm. */
function decodable({ name, algorithm }: KnownPolicy): NamedPolicy {
  return { name, algorithm, policy: { algorithm: algorithm.name }, windowMs: 0 };
}

type ValueHeader = Pick<KeyReport, 'blockedUntilMs' | 'denials'>;

const NO_HEADER: ValueHeader = { blockedUntilMs: null, denials: null };

/** The part of a value that does not depend on its policies. */
function readHeader(key: string, value: string, atMs: number): ValueHeader {
  const [header = ''] = /^(?:!\d+!)?(?:\^[\d:]+\^)?/.exec(value) ?? [];
  const read = readValue(header, key, { policies: [] });
  if (read instanceof Error) return NO_HEADER;
  return {
    blockedUntilMs: read.blockedUntilMs > atMs ? read.blockedUntilMs : null,
    denials: remembered(read.denials, atMs) ?? null,
  };
}

function unread(key: string, text: KeyText | undefined, header: ValueHeader, problem: string): KeyReport {
  const { subject = null, owner: limiter = null } = text ?? {};
  return { key, subject, limiter, ...header, policies: [], problem };
}

import type { Policy } from '@sluice/old-core';
import {
  externalStateKeyOf,
  isWholeKey,
  literalPattern,
  ownerOfExternalState,
  readKeyText,
  subjectOfKey,
  type KeyText,
} from '@sluice/old-core/inspect';
import {
  algorithms,
  encodeSubject,
  keySuffixOf,
  namePolicy,
  parseName,
  redisKey,
  sourceKeySuffix,
  type AnyAlgorithm,
} from '@sluice/old-core/spi';
import { canonicalAddress } from '@sluice/old-http/spi';
import { Failure, printable, UsageError } from '@sluice/simulate/terminal';
import { findKeys, spellingsOf } from './find-keys.ts';
import { eachKey, scan } from './read-keys.ts';
import type { Connection } from './redis.ts';
import type { Session } from './session.ts';

/** An edit of one key. */
export type KeyEdit = 'block' | 'unblock' | 'reset';

/** A key in Redis that a limit decides on. It need not exist. */
export interface LimitKey {
  readonly key: string;
  /** What the application limits, as the key has it. */
  readonly subject: string;
  /** The limiter or the managed policy, and the names of its policies where they differ. */
  readonly of: string;
  /** The keys of its external states. */
  readonly details: readonly string[];
}

/** What is asked for: a key of an application, or a whole key in Redis, and the name of a limit. */
export interface AskedKey {
  readonly key: string;
  readonly limit: string;
  /** Policies of that limit, where no key of it is in Redis yet. */
  readonly policies: readonly Policy[];
}

/** How many names an error lists. */
const MOST_NAMED = 5;
/** By which prefix of IPv6 limiters count where they are told nothing else. */
const IPV6_PREFIX = 64;

/**
 * The keys on which a limit decides about what an application limits. A limit is known by its keys in Redis, by its
 * managed policy or by the policies that are given. Where it has keys of earlier kinds of its policies, all of them are
 * returned, because only the application knows which it asks for.
 *
 * @throws (rejects) UsageError for a whole key that is none of this limit; Failure where no key of the limit is known,
 * where the name has several lists of policies, and where only keys that join this one with others are there.
 */
export async function keysOfLimit(session: Session, asked: AskedKey): Promise<readonly LimitKey[]> {
  const { connection, prefix } = session;
  const { key, limit } = asked;
  parseName(limit, '--limit');
  if (isWholeKey(key, prefix)) return [await limitKey(session, wholeKey(asked, prefix))];
  const known = [...(await limitsNamed(session, asked)).values()];
  if (known.length === 0) throw unknownLimit(limit);
  const isOfLimit = (one: string): boolean => known.some(({ suffix }) => one.endsWith(`}${suffix}`));
  const found = (await findKeys(connection, key, prefix)).filter(isOfLimit);
  const spellings = spellingsOf(key).map(encodeSubject);
  const subjects = new Set(found.map((one) => subjectOfKey(one, prefix) ?? ''));
  const own = [...subjects].filter((subject) => spellings.includes(subject) || isHashOf(subject, key, prefix));
  if (own.length === 0 && subjects.size > 0) throw onlyJoined(asked, [...subjects]);
  const used = known.filter(({ suffix }) => found.some((one) => one.endsWith(`}${suffix}`)));
  const meant = oneList(known, used, limit);
  const chosen = own.length > 0 ? own : [encodeSubject(canonicalAddress(key, IPV6_PREFIX) ?? key)];
  const keys = chosen.flatMap((subject) => meant.map(({ suffix }) => redisKey(prefix, subject, suffix)));
  return Promise.all(keys.map(async (one) => limitKey(session, one)));
}

/** A limit as keys show it. */
interface NamedLimit {
  /** The end of its keys. */
  readonly suffix: string;
  /** The names of its policies: the same for every kind that they have had. */
  readonly list: string;
}

/** The limits that have this name, or a policy of this name. */
async function limitsNamed(
  { connection, prefix }: Session,
  { limit, policies }: AskedKey,
): Promise<ReadonlyMap<string, NamedLimit>> {
  const limits = new Map<string, NamedLimit>();
  const add = (key: string): void => {
    const text = readKeyText(key, prefix);
    if (text === undefined || !hasName(text, limit)) return;
    const suffix = key.slice(key.indexOf('}') + 1);
    limits.set(suffix, { suffix, list: listOf(text) });
  };
  if (await isManaged(connection, `${prefix}:policies`, limit)) add(redisKey(prefix, 'x', sourceKeySuffix(limit)));
  const named = policies.map((policy) => namePolicy(policy, policy.name ?? limit));
  if (named.length > 0) add(redisKey(prefix, 'x', keySuffixOf(limit, named)));
  const start = `${literalPattern(prefix)}:{*}:`;
  for (const pattern of [`${start}${limit}:*`, `${start}*.${limit}*`]) await eachKey(connection, pattern, add);
  return limits;
}

async function isManaged(connection: Connection, policies: string, name: string): Promise<boolean> {
  const text = await connection.hget(policies, name);
  try {
    return text !== null && (JSON.parse(text) as { readonly policy?: unknown }).policy !== undefined;
  } catch {
    return false; // not what Sluice wrote
  }
}

function hasName({ owner, policies }: KeyText, name: string): boolean {
  return owner === name || policies?.some((policy) => policy.name === name) === true;
}

function listOf({ owner, isManaged, policies }: KeyText): string {
  if (isManaged) return `${owner} (managed)`;
  const names = policies?.map(({ name }) => name) ?? [];
  return names.length === 1 && names[0] === owner ? owner : `${owner} (${names.join(', ')})`;
}

async function limitKey({ connection, prefix }: Session, key: string): Promise<LimitKey> {
  const text = readKeyText(key, prefix) as KeyText;
  const { subject, isManaged } = text;
  // A managed policy stands alone, and may be of any kind; a digest of names says nothing of kinds.
  const details = isManaged
    ? EXTERNAL.map((algorithm) => externalStateKeyOf(key, algorithm, 0))
    : text.policies?.flatMap(({ algorithm }, i) =>
        EXTERNAL.includes(algorithm) ? [externalStateKeyOf(key, algorithm, i)] : [],
      );
  return { key, subject, of: listOf(text), details: details ?? (await detailsOf(connection, key, prefix)) };
}

const EXTERNAL: readonly AnyAlgorithm[] = algorithms.filter((algorithm) => algorithm.summarize !== undefined);

async function detailsOf(connection: Connection, key: string, prefix: string): Promise<readonly string[]> {
  const below = await scan(connection, `${literalPattern(key)}:*`);
  return below.filter((one) => ownerOfExternalState(one, prefix) === key);
}

/** @throws UsageError for a key that holds something else, such as the record of a refund or an external state. */
function wholeKey({ key, limit }: AskedKey, prefix: string): string {
  const text = readKeyText(key, prefix);
  if (text === undefined) {
    throw new UsageError(`${printable(key)} is no key that a limit decides on; nothing was changed`);
  }
  if (hasName(text, limit)) return key;
  throw new UsageError(`${printable(key)} is a key of ${listOf(text)}, and not of ${limit}; nothing was changed`);
}

function isHashOf(subject: string, key: string, prefix: string): boolean {
  return subject.startsWith('#') && subject === subjectOfKey(redisKey(prefix, encodeSubject(key), ''), prefix);
}

/** The limits of one list of policies: the only one, or that in which the key has a state. */
function oneList(known: readonly NamedLimit[], used: readonly NamedLimit[], limit: string): readonly NamedLimit[] {
  const candidates = used.length > 0 ? used : known;
  const lists = [...new Set(candidates.map(({ list }) => list))].sort();
  if (lists.length === 1) return known.filter(({ list }) => list === lists[0]);
  throw new Failure(
    `several limits have the name ${limit}: ${lists.slice(0, MOST_NAMED).join('; ')}; name one of their policies, or give the whole key, which sluice inspect --json prints; nothing was changed`,
  );
}

function unknownLimit(limit: string): Failure {
  return new Failure(
    `no key in Redis belongs to a limit ${limit}, and no managed policy has this name; nothing was changed. If no request was decided by it yet, give its policies: --policy 'fixedWindow --limit 5 --window 1m'; sluice inspect KEY prints the limits of a key`,
  );
}

function onlyJoined({ key, limit }: AskedKey, subjects: readonly string[]): Failure {
  const some = subjects.slice(0, MOST_NAMED).map((subject) => `'${printable(subject)}'`);
  const rest = subjects.length > some.length ? `, and ${String(subjects.length - some.length)} more` : '';
  return new Failure(
    `${limit} does not decide on ${printable(key)} alone, but on keys that join it with others: ${some.join(', ')}${rest}; give one of these; nothing was changed`,
  );
}

import { canonicalAddress } from '@sluice/core/http';
import { readSubject } from '@sluice/core/spi';
import { listPrimaries, type Connection } from './redis.ts';

/** A key in Redis on which a policy decides. */
export interface StateKey {
  /** The key in Redis. */
  readonly key: string;
  /** The key that a store is asked for: without the prefix. */
  readonly asked: string;
  /** What the application limits. */
  readonly subject: string;
  /** `limiter` or `limiter:policy`; for a managed policy its name, followed by `@` and a number after resets. */
  readonly limit: string;
  readonly isManaged: boolean;
}

/** Reads a key of Redis; undefined if no policy decides on it. */
export function parseKey(key: string, prefix: string): StateKey | undefined {
  if (!key.startsWith(`${prefix}:{`)) return undefined;
  const asked = key.slice(prefix.length + 1);
  const [, subject, managed, limit] = /^\{(.*)\}:(:?)([A-Za-z][^:]*(?::.+)?)$/s.exec(asked) ?? [];
  // Our own subjects begin with # and a word.
  if (subject === undefined || limit === undefined || /^#(?![\w-]{22}$)/.test(subject)) return undefined;
  return { key, asked, subject, limit, isManaged: managed === ':' };
}

/** How many keys one SCAN examines. */
const SCANNED = 1_000;

/** The keys in Redis that match a pattern after `prefix:{`, sorted. */
export async function scan(connection: Connection, prefix: string, pattern: string): Promise<readonly StateKey[]> {
  const found = new Map<string, StateKey>();
  for (const server of listPrimaries(connection)) {
    let cursor = '0';
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', `${escaped(prefix)}:{${pattern}`, 'COUNT', SCANNED);
      for (const key of keys) {
        const parsed = parseKey(key, prefix);
        if (parsed !== undefined) found.set(key, parsed);
      }
      cursor = next;
    } while (cursor !== '0');
  }
  return [...found.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** The keys of what an application limits. */
export interface FoundKeys {
  /** Its own keys, in any spelling of an address. */
  readonly own: readonly StateKey[];
  /** Keys that join it with other parts, as `[byIp(), byRoute()]` and Envoy's descriptors do. */
  readonly joined: readonly StateKey[];
}

/**
 * Finds the keys of what an application limits.
 *
 * @param text - As the application writes it, or a whole Redis key.
 */
export async function findKeys(connection: Connection, text: string, prefix: string): Promise<FoundKeys> {
  const whole = parseKey(text, prefix);
  if (whole !== undefined) return { own: [whole], joined: [] };
  const spellings = [...new Set([text, canonicalAddress(text, 64) ?? text])];
  const subjects = spellings.map((one) => readSubject(one));
  const parts = spellings.map((one) => `|${one}|`);
  const found = new Map<string, StateKey>();
  // The subject of a long key is a hash, which only finds itself.
  for (const pattern of new Set([...spellings, ...subjects].map((one) => `*${escaped(one)}*}:*`))) {
    for (const one of await scan(connection, prefix, pattern)) found.set(one.key, one);
  }
  const all = [...found.values()];
  const isOwn = ({ subject }: StateKey): boolean => subjects.includes(subject);
  const isJoined = ({ subject }: StateKey): boolean => parts.some((part) => `|${subject}|`.includes(part));
  return { own: all.filter(isOwn), joined: all.filter((one) => !isOwn(one) && isJoined(one)) };
}

/** The subject by which limiters count a key: for an address, its canonical form. */
export function canonicalize(text: string): string {
  return readSubject(canonicalAddress(text, 64) ?? text);
}

/** A pattern that matches only this text. */
export function escaped(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}

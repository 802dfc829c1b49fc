import { containingPattern, isWholeKey, keyPattern, subjectOfKey } from '@sluice/old-core/inspect';
import { canonicalAddress } from '@sluice/old-http/spi';
import { scan } from './read-keys.ts';
import type { Connection } from './redis.ts';

/** The networks that an application may count an IPv6 address by (`ipv6Prefix`). */
const NETWORKS = Array.from({ length: 128 - 31 }, (_, i) => 32 + i);

/**
 * The keys in Redis that belong to what an application limits: those that are it, in whichever spelling of an address,
 * and after them those that join it with other parts, as `[byIp(), byRoute()]` and descriptors of Envoy do.
 *
 * @param asked - As the application writes it, or a whole key in Redis.
 * @throws TypeError `SLUICE_KEY_INVALID` for a text that is no key.
 */
export async function findKeys(connection: Connection, asked: string, prefix: string): Promise<readonly string[]> {
  if (isWholeKey(asked, prefix)) return [asked];
  const spellings = spellingsOf(asked);
  const containing = containingPattern(commonStart(spellings), prefix);
  const whole = keyPattern(asked, prefix);
  const mayBeHash = subjectOfKey(whole, prefix) !== asked;
  const found = await scan(connection, containing);
  const exact = new Set(mayBeHash ? await scan(connection, whole) : []);
  const joined: string[] = [];
  for (const key of found) {
    const subject = subjectOfKey(key, prefix) ?? '';
    if (spellings.includes(subject)) exact.add(key);
    else if (spellings.some((text) => isPart(text, subject))) joined.push(key);
  }
  return [...[...exact].sort(), ...joined.filter((key) => !exact.has(key))];
}

/** A text, as it is written in a joined key, and the networks that an address is in. */
export function spellingsOf(text: string): readonly string[] {
  const joined = text.replaceAll('%', '%25').replaceAll('|', '%7C');
  const networks = NETWORKS.map((bits) => canonicalAddress(text, bits) ?? text);
  return [...new Set([text, joined, ...networks])].sort((one, other) => one.length - other.length);
}

/** The longest beginning that all texts share. The first text is the shortest. */
function commonStart([first = '', ...others]: readonly string[]): string {
  let length = first.length;
  while (!others.every((other) => other.startsWith(first.slice(0, length)))) length--;
  return first.slice(0, length);
}

/** Whether a subject has a text as one of its parts, or as several that follow each other. */
function isPart(text: string, subject: string): boolean {
  return `|${subject}|`.includes(`|${text}|`);
}

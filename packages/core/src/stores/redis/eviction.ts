import { warnOnce } from '../../warnings.ts';
import type { RedisClient } from './client.ts';

/** These evict nothing, or first what expires first. All others push out counters of those who are being refused. */
const SAFE = ['noeviction', 'volatile-ttl'];

/**
 * Warns, once, when the server has an eviction policy that drops live counters. Looks where the client can ask for INFO
 * and its user may, and says nothing where that is not so.
 */
export async function warnOfEviction(client: RedisClient): Promise<void> {
  let text: string;
  try {
    text = String(await client.info?.('memory'));
  } catch {
    return; // not permitted, or gone: the limiter does not need it
  }
  const policy = /^maxmemory_policy:([a-z-]+)/m.exec(text)?.[1];
  const isBounded = /^maxmemory:[1-9]/m.test(text);
  if (policy === undefined || !isBounded || SAFE.includes(policy)) return;
  warnOnce(
    'SLUICE_REDIS_EVICTS',
    `Redis evicts keys by ${policy} when its memory is full: whoever can create keys pushes out the counters of those who are being refused. ` +
      'Give the limiter a server of its own with maxmemory-policy noeviction or volatile-ttl.',
  );
}

import { warnOnce } from '../../warnings.ts';
import type { Port } from './clients/port.ts';

/**
 * Evicts nothing. All other policies evict the counters of denied clients: `volatile-ttl` those of short windows first.
 */
const SAFE = 'noeviction';

/**
 * Warns, once, when the server has an eviction policy that drops live counters. Does nothing when the client cannot
 * call INFO or its user may not.
 */
export async function warnOfEviction(client: Port): Promise<void> {
  let text: string;
  try {
    text = String(await client.info?.('memory'));
  } catch {
    return; // no permission, or no connection: the limiter does not need INFO
  }
  const policy = /^maxmemory_policy:([a-z-]+)/m.exec(text)?.[1];
  const isBounded = /^maxmemory:[1-9]/m.test(text);
  if (policy === undefined || !isBounded || policy === SAFE) return;
  warnOnce(
    'SLUICE_REDIS_EVICTS',
    `Redis evicts keys by ${policy} when its memory is full: clients that create many keys evict the counters of denied clients. ` +
      'Give the limiter a server of its own with maxmemory-policy noeviction.',
    policy,
  );
}

import type { Redis } from 'ioredis';
import { until } from './until.ts';

/** Whether it is a replica that has lost its primary, and has read all data from it. */
export async function isOrphaned(client: Redis): Promise<boolean> {
  return /role:slave[^]*master_link_status:down/.test(await client.info('replication'));
}

/**
 * Stops a replica from following its primary, which continues: writes from here on are lost with the primary. Needs
 * connections to both, as their default users.
 */
export async function cutReplication(primary: Redis, replica: Redis): Promise<void> {
  await replica.config('SET', 'masterauth', 'unknown');
  await replica.config('SET', 'masteruser', 'unknown');
  await primary.client('KILL', 'TYPE', 'REPLICA');
  await until('the replica is cut off', () => isOrphaned(replica));
}

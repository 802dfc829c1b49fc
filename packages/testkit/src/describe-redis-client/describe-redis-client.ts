import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeDecisions } from './decisions.ts';
import { describeFaults } from './faults.ts';
import { describeLife } from './life.ts';
import { startServers, type Servers } from './servers.ts';
import { closeLimiters } from './setup.ts';
import type { RedisClientTarget } from './target.ts';

export type { Endpoint } from './servers.ts';
export type { AnyClient, RedisClientTarget, TestClient } from './target.ts';

/**
 * The contract of every client that `redisStore` accepts, on real servers. It decides exactly, with the reply types of
 * every library. No call waits longer than the deadline while Redis is away, and none is sent twice. It decides again
 * when Redis is back. The store only sends commands on a client, and never opens or closes it.
 */
export function describeRedisClient(name: string, target: RedisClientTarget): void {
  describe(`the Redis client ${name}`, () => {
    let running: Servers | undefined;
    beforeAll(async () => {
      running = await startServers(target.cluster === true);
    });
    afterAll(async () => running?.stop());
    const servers = (): Servers => running as Servers;

    closeLimiters();
    const connections = { 'with the recommended settings': target.connect, ...target.variants };
    for (const [how, connect] of Object.entries(connections)) {
      describe(how, () => {
        describeDecisions(servers, connect);
      });
    }
    if (target.ours !== true) describeLife(servers, target);
    describeFaults(servers, target);
  });
}

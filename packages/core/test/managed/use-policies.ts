import { beforeEach } from '@jest/globals';
import { useClosing, useRedis, type RunningRedis } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { fixedWindow, type FixedWindowPolicy } from '../../src/policies/fixed-window.ts';
import { createPolicies, redisSource, type Policies } from '../../src/managed/index.ts';
import { findFollower } from '../../src/managed/policies.ts';
import type { Follower } from '../../src/managed/follower.ts';
import type { Store } from '../../src/stores/store.ts';
import { useWarnings } from '../use-warnings.ts';

/** One process: the policies as it sees them, through a connection of its own. */
export interface Process {
  readonly policies: Policies;
  readonly follower: Follower;
  readonly connection: Redis;
  /** Begins to follow the source, as a limiter does. */
  follow(): Promise<void>;
}

/** A Redis of the test file, empty before every test, and processes that are closed after it. */
export interface World {
  readonly redis: RunningRedis;
  readonly warnings: readonly string[];
  process(url?: string): Process;
}

export const ten: FixedWindowPolicy = fixedWindow({ limit: 10, window: '1h' });
export const twenty: FixedWindowPolicy = fixedWindow({ limit: 20, window: '1h' });

const KEYS = ['records', 'changes', 'revisions'].map((part) => `sluice:{#policies}:${part}`);

/** What Redis has of the policies now, as a snapshot. Returns what loads it again. */
export async function takeSnapshot(admin: Redis): Promise<() => Promise<void>> {
  const dumps = await Promise.all(KEYS.map((key) => admin.dumpBuffer(key)));
  return async () => {
    await admin.del(...KEYS);
    await Promise.all(KEYS.map((key, i) => admin.restore(key, 0, dumps[i] as Buffer, 'REPLACE')));
  };
}

export function useWorld(): World {
  const redis = useRedis();
  const closeLater = useClosing();
  const warnings = useWarnings();
  beforeEach(() => redis.admin.flushall());
  return {
    redis,
    warnings,
    process(url = redis.server.url) {
      const connection = new Redis(url, { disconnectTimeout: 50, retryStrategy: () => 50 });
      connection.on('error', () => undefined);
      closeLater(() => {
        connection.disconnect();
      });
      const policies = createPolicies(redisSource(connection, { prefix: 'sluice' }));
      const follower = findFollower(policies, {} as Store);
      const follow = async (): Promise<void> => {
        closeLater(follower.enter());
        await follower.firstLoad();
      };
      return { policies, follower, connection, follow };
    },
  };
}

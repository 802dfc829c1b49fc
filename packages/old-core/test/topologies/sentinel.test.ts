import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { fixedWindow, type IoredisClient } from '@sluice/old-core';
import { cutReplication, startSentinel, STORE_USER, type RedisSentinel, type RedisServer } from '@sluice/testkit';
import { startLoad } from './load.ts';
import { expectAccounted, immortalKeys, unitsIn } from './units.ts';
import { closeAll, keep, limiterOn } from './ways.ts';

const { name: username, password } = STORE_USER;
const LIMIT = 400;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });

let sentinel: RedisSentinel;
beforeAll(async () => {
  sentinel = await startSentinel();
});
afterEach(closeAll);
afterAll(async () => {
  await sentinel.stop();
});

describe('a failover by Sentinel under load', () => {
  it('throws nothing, leaves no immortal key, and allows at most the limit plus what was lost', async () => {
    const options = {
      ...{ sentinels: [...sentinel.sentinels], name: sentinel.name },
      ...{ username, password, sentinelUsername: username, sentinelPassword: password },
    };
    const clients: Record<string, IoredisClient> = { six: keep(new Redis(options)), five: keep(new Redis5(options)) };
    const loads = Object.entries(clients).map(([version, client]) => {
      const limiter = limiterOn(client, { policy, onStoreError: 'local' }, { breaker: { probeEveryMs: 50 } });
      return startLoad(limiter, [`ann-${version}`, `bob-${version}`], (subject) => subject);
    });
    let kept = new Map<string, number>();

    await Promise.all(loads.map((load) => load.hasAllowed(LIMIT)));
    const [primary, replica] = sentinel.servers as readonly [RedisServer, RedisServer];
    await cutReplication(sentinel.adminOf(primary), sentinel.adminOf(replica));
    await Promise.all(loads.map((load) => load.hasAllowed(LIMIT + 100)));
    const { promoted } = await sentinel.killPrimary(async () => {
      kept = await unitsIn(sentinel.adminOf(replica));
      for (const load of loads) load.mark();
    });
    await Promise.all(loads.map((load) => load.untilDenied()));

    const admin = sentinel.adminOf(promoted);
    const held = await unitsIn(admin);
    for (const load of loads) {
      expect(load.errors).toEqual([]);
      expect(expectAccounted(load.tallies, kept, held, LIMIT)).toBeGreaterThan(0);
    }
    expect(await immortalKeys(admin)).toEqual([]);
  });
});

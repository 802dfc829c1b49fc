import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import * as theirs from 'express-rate-limit';
import { RedisStore as PeerStore } from 'rate-limit-redis';
import { serve } from '../express-rate-limit/applications.ts';

/** The guide docs/guides/side-by-side.md, run: both count in one Redis. */
describe('express-rate-limit with rate-limit-redis and the drop-in on one Redis', () => {
  const redis = useRedis();

  it('count the same client apart, under prefixes of their own, and lose nothing by a reset of the other', async () => {
    const peer = new PeerStore({
      sendCommand: async (command, ...args) => redis.admin.call(command, ...args) as Promise<string>,
    });
    const own = new ExpressStore({ store: redisStore(redis.client, { prefix: 'sluice' }), timeoutMs: 60_000 });
    const app = await serve([theirs.rateLimit({ limit: 3, store: peer }), ours.rateLimit({ limit: 2, store: own })]);

    // The third is denied by the drop-in, which has counted two; the fourth by the peer, which has counted three.
    expect(await app.statuses('/', '/', '/', '/')).toEqual([200, 200, 429, 429]);
    const keys = (await redis.admin.keys('*')).sort();
    await peer.resetKey('127.0.0.1');
    const afterTheirs = await app.statuses('/');
    await own.resetKey('127.0.0.1');
    const afterOurs = await app.statuses('/');
    await app.close();

    expect(keys).toEqual([
      expect.stringMatching(/^rl:.*127\.0\.0\.1/),
      expect.stringMatching(/^sluice:.*127\.0\.0\.1/),
    ]);
    expect([...afterTheirs, ...afterOurs]).toEqual([429, 200]);
  });
});

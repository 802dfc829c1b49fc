import { beforeEach, describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { redisStore } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import * as theirs from 'express-rate-limit';
import { RedisStore as PeerStore } from 'rate-limit-redis';
import { served, type Running } from '../express-rate-limit/applications.ts';

const HOUR_MS = 3_600_000;

/** The guide docs/guides/side-by-side.md, run: both count in one Redis. */
describe('express-rate-limit with rate-limit-redis and the drop-in on one Redis', () => {
  const redis = useRedis();
  beforeEach(async () => {
    await redis.admin.flushall();
  });

  const peerStore = (): PeerStore =>
    new PeerStore({
      sendCommand: async (command, ...args) => redis.admin.call(command, ...args) as Promise<string>,
    });
  const ownStore = (): ExpressStore =>
    new ExpressStore({ store: redisStore(redis.client, { prefix: 'sluice' }), timeoutMs: 60_000 });
  const old = (limit: number, store = peerStore()) => theirs.rateLimit({ limit, windowMs: HOUR_MS, store });
  const moved = (limit: number, store = ownStore()) => ours.rateLimit({ limit, windowMs: HOUR_MS, store });
  const statusesOf = async ({ get }: Running, paths: readonly string[]): Promise<(number | undefined)[]> => {
    const statuses = [];
    for (const path of paths) statuses.push((await get(path)).status);
    return statuses;
  };
  const keys = async (): Promise<string[]> => (await redis.admin.keys('*')).sort();

  it('allow their whole limits on routes of their own, and then deny', async () => {
    const running = await served([], (app) => {
      app.use('/old', old(2));
      app.use('/moved', moved(3));
    });

    const statuses = await statusesOf(running, ['/old', '/moved', '/old', '/moved', '/old', '/moved', '/moved']);
    await running.close();

    expect(statuses).toEqual([200, 200, 200, 200, 429, 200, 429]);
  });

  it('count the same client apart, under prefixes of their own', async () => {
    const running = await served([], (app) => {
      app.use(old(3), moved(2));
    });

    const statuses = await statusesOf(running, ['/', '/', '/', '/']);
    await running.close();

    // The third is denied by the drop-in, which has counted two; the fourth by the peer, which has counted three.
    expect(statuses).toEqual([200, 200, 429, 429]);
    expect(await keys()).toEqual([
      expect.stringMatching(/^rl:.*127\.0\.0\.1/),
      expect.stringMatching(/^sluice:.*127\.0\.0\.1/),
    ]);
  });

  it('lose nothing by a reset of the other one', async () => {
    const [peer, dropIn] = [peerStore(), ownStore()];
    const running = await served([], (app) => {
      app.use('/old', old(1, peer));
      app.use('/moved', moved(1, dropIn));
    });
    await statusesOf(running, ['/old', '/moved']);

    await dropIn.resetKey('127.0.0.1');
    const afterOurs = await statusesOf(running, ['/old', '/moved', '/moved']);
    await peer.resetKey('127.0.0.1');
    const afterTheirs = await statusesOf(running, ['/moved', '/old', '/old']);
    await running.close();

    expect(afterOurs).toEqual([429, 200, 429]);
    expect(afterTheirs).toEqual([429, 200, 429]);
  });
});

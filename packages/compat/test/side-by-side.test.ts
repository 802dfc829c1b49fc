import { spawnSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import * as ours from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { redisStore } from '@sluice/core';
import { fixedWindow, rateLimit } from '@sluice/express';
import sluice from '@sluice/fastify';
import { useRedis } from '@sluice/testkit';
import * as theirs from 'express-rate-limit';
import fastify, { type FastifyInstance } from 'fastify';
import { RedisStore as PeerStore } from 'rate-limit-redis';
import { serve } from './express-rate-limit/applications.ts';
import { peer } from './fastify-peer.ts';
import { get } from './get.ts';

// The guide docs/guides/side-by-side.md, run.

const policy = fixedWindow({ limit: 1, window: '1m' });

describe('express-rate-limit and Sluice in one application', () => {
  it('limit routes of their own, until the last one has moved', async () => {
    const { statuses, close } = await serve([], (app) => {
      app.use('/old', theirs.rateLimit({ limit: 1 }));
      app.use('/moved', ours.rateLimit({ limit: 1 }));
      app.use('/new', rateLimit({ policy }));
    });

    expect(await statuses('/old', '/old', '/moved', '/moved', '/new', '/new')).toEqual([200, 429, 200, 429, 200, 429]);
    await close();
  });

  it('are compared on the same requests: the drop-in reports, and the peer decides', async () => {
    const used: unknown[] = [];
    const trial = ours.rateLimit({ limit: 2, mode: 'report', requestPropertyName: 'trial', legacyHeaders: false });
    const { statuses, close } = await serve([
      trial,
      (request, _response, next) => {
        used.push((request as ours.AugmentedRequest)['trial']?.used);
        next();
      },
      theirs.rateLimit({ limit: 2 }),
    ]);

    expect(await statuses('/', '/', '/', '/')).toEqual([200, 200, 429, 429]);
    await close();
    expect(used).toEqual([1, 2, 3, 4]);
  });

  it('are compared in the options of Sluice: mode report tells what it would have denied', async () => {
    const decided: boolean[] = [];
    const onDecision = ({ allowed }: { readonly allowed: boolean }): void => void decided.push(allowed);
    const limit = rateLimit({ policy, mode: 'report', headers: false, onDecision });
    const { statuses, close } = await serve([limit, theirs.rateLimit({ limit: 2 })]);

    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429]);
    await close();
    expect(decided).toEqual([true, false, false]);
  });
});

async function statusesOf(app: FastifyInstance, paths: readonly string[]): Promise<readonly (number | undefined)[]> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const statuses: (number | undefined)[] = [];
  for (const path of paths) statuses.push((await get(port, path, {})).status);
  await app.close();
  return statuses;
}

describe('@fastify/rate-limit and @sluice/fastify in one application', () => {
  it('limit routes of their own, each in a scope', async () => {
    const app = fastify();
    await app.register(async (old) => {
      await old.register(peer, { max: 1 });
      old.get('/old', () => 'good');
    });
    await app.register(async (moved) => {
      await moved.register(sluice, { policy });
      moved.get('/moved', () => 'good');
    });

    expect(await statusesOf(app, ['/old', '/old', '/moved', '/moved'])).toEqual([200, 429, 200, 429]);
  });

  it('are compared on the same requests: Sluice reports, and the peer decides', async () => {
    const decided: boolean[] = [];
    const app = fastify();
    await app.register(sluice, {
      policy,
      mode: 'report',
      headers: false,
      onDecision: ({ allowed }) => void decided.push(allowed),
    });
    await app.register(peer, { max: 2 });
    app.get('/', () => 'good');

    expect(await statusesOf(app, ['/', '/', '/'])).toEqual([200, 200, 429]);
    expect(decided).toEqual([true, false, false]);
  });
});

/** The guard of the peer comes first. In a process of its own, which can load the peer. */
it('@nestjs/throttler on a store of Sluice, and @sluice/nestjs, are compared on the same requests', () => {
  const program = fileURLToPath(new URL('./children/nest.mjs', import.meta.url));

  const { stdout, stderr } = spawnSync('node', [program], { encoding: 'utf8' });

  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ statuses: [200, 200, 429], decided: [true, false] });
});

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

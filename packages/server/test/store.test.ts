import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow } from '@sluice/core';
import { startRedisCluster, until, type RedisCluster } from '@sluice/testkit';
import { parseServerOptions } from '../src/options.ts';
import { openStore } from '../src/store.ts';

describe('the store of a cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3);
  });
  afterAll(() => cluster.stop());

  it('fails a call whose node dies at once: it may have counted, so it is sent to no other node', async () => {
    const redis = cluster.nodes.map(({ storeUrl }) => storeUrl);
    const { store, connect, close } = openStore({ redis, store: undefined, prefix: 'sluice' });
    connect();
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    await until('the node decides', () => limiter.consume('key'));
    const node = await cluster.admin.primaryOf('sluice:{key}');
    node.pause();
    const failure = limiter.consume('key').catch((error: unknown) => error);
    await new Promise(setImmediate);

    await node.kill();

    expect(await failure).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection', sent: true });
    await limiter.close();
    await close();
  });
});

it('by default waits 100 ms for Redis, for clients of Sentinel, which wait for 20, 15 ms, and has the prefix sluice', () => {
  const { timeoutMs, sentinelTimeoutMs, prefix } = parseServerOptions({ config: 'limits.yaml' });
  expect([timeoutMs, sentinelTimeoutMs, prefix]).toEqual([100, 15, 'sluice']);
});

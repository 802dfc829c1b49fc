import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow } from '@sluice/core';
import { startRedisCluster, until, type RedisCluster } from '@sluice/testkit';
import { openStore } from '../src/store.ts';

describe('the store of a cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3);
  });
  afterAll(() => cluster.stop());

  it('fails a call whose node dies at once: it may have counted, so it is sent to no other node', async () => {
    const redis = cluster.nodes.map(({ storeUrl }) => storeUrl);
    const { store, connect, close } = openStore({ redis, store: undefined, prefix: undefined });
    connect();
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    await until('the node decides', () => limiter.consume('key'));
    const node = await cluster.admin.primaryOf('sluice:{key}');
    node.pause();
    const failure = limiter.consume('key').catch((error: unknown) => (error as Error).message);
    await new Promise(setImmediate);

    await node.kill();

    expect(await failure).toContain('Redis did not decide: the client has no connection to Redis at the moment');
    await limiter.close();
    await close();
  });
});

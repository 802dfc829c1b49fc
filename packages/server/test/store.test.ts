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

describe('the longest wait for Redis', () => {
  it('is 100 ms, and 15 ms for clients of Sentinel, which wait for 20', () => {
    const { timeoutMs, sentinelTimeoutMs } = parseServerOptions({ config: 'limits.yaml' });
    expect([timeoutMs, sentinelTimeoutMs]).toEqual([100, 15]);
  });
});

describe('the prefix of the service', () => {
  it('is sluice unless the options name another', () => {
    expect(parseServerOptions({ config: 'limits.yaml' }).prefix).toBe('sluice');
    expect(parseServerOptions({ config: 'limits.yaml', prefix: 'shop' }).prefix).toBe('shop');
  });

  it.each<[string, unknown]>([
    ['is empty', ''],
    ['has braces', '{shop}'],
    ['is a number', 7],
  ])('is denied where it %s, and the error shows the line to write', (_what, prefix) => {
    const redis = ['redis://127.0.0.1:1'];
    expect(() => openStore({ redis, store: undefined, prefix: prefix as string })).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        field: 'prefix',
        message: expect.stringContaining("{ prefix: 'shop' }) [") as unknown,
      }),
    );
  });
});

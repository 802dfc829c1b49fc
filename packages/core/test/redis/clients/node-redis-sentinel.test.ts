import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSentinel } from 'redis';
import { createLimiter, fixedWindow, redisStore, type Limiter, type NodeRedisClient } from '@sluice/core';
import { STORE_USER, startSentinel, until, type RedisSentinel } from '@sluice/testkit';

let running: RedisSentinel;
beforeAll(async () => {
  running = await startSentinel();
});
afterAll(async () => {
  await running.stop();
});

interface Sentinel extends NodeRedisClient {
  connect(): Promise<unknown>;
  close(): Promise<unknown>;
}

// As docs/guides/redis-clients.md recommends.
function made(): Sentinel {
  const { name: username, password } = STORE_USER;
  const client = createSentinel({
    name: running.name,
    sentinelRootNodes: [...running.sentinels],
    nodeClientOptions: { username, password, disableOfflineQueue: true },
    maxCommandRediscovers: 0,
  });
  client.on('error', () => undefined);
  return client;
}

const limiterOn = (client: Sentinel): Limiter =>
  createLimiter({
    policy: fixedWindow({ limit: 1_000, window: '1h' }),
    store: redisStore(client, { breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 5_000,
  });

describe('a sentinel of node-redis 6', () => {
  it('before it was connected, is told of, and is not connected here', async () => {
    const client = made();

    await expect(limiterOn(client).consume('key')).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringMatching(/await client\.connect\(\)/) as unknown,
    });

    expect(client.isOpen).toBe(false);
  });

  it('follows the Sentinels to another primary', async () => {
    const client = made();
    await client.connect();
    const limiter = limiterOn(client);
    await limiter.consume('key');

    await running.killPrimary();

    await until('a decision by the new primary', async () => (await limiter.consume('key')).source === 'redis');
    await client.close();
  });
});

import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { expectWarnings, startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';
import { concurrency, createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/core';

expectWarnings('SLUICE_STORE_AWAY');

const redis = useRedis();
const policy = fixedWindow({ limit: 1_000, window: '1h' });
const consume = (limiter: Limiter, times: number) =>
  Promise.all(Array.from({ length: times }, () => limiter.consume('ann')));

describe('a stall of this process', () => {
  /** Keeps this process from its timers and sockets until the server has answered what was sent to it before. */
  const stall = (): void => {
    const program = `
      const socket = require('node:net').connect(${String(redis.server.port)}, '127.0.0.1', () => socket.write('PING\\r\\n'));
      socket.once('data', () => setTimeout(() => socket.destroy(), 50));`;
    spawnSync(process.execPath, ['-e', program]);
  };

  it('does not make a call miss an answer that waits in the socket', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice' });
    await store.ready();
    const limiter = createLimiter({ policy, store, timeoutMs: 20 });

    const decision = limiter.consume('ann');
    await new Promise(setImmediate); // sent
    stall();

    expect((await decision).source).toBe('redis');
  });
});

describe('through a slow or silent network', () => {
  let proxy: TcpProxy;
  let client: Redis;
  beforeAll(async () => {
    proxy = await startTcpProxy(redis.server);
    client = new Redis(proxy.through(redis.server.storeUrl));
  });
  afterAll(() => {
    client.disconnect();
    proxy.close();
  });

  it('a limiter with a short timeoutMs takes the store away from no other', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    await store.ready();
    const hasty = createLimiter({ name: 'hasty', policy, store, timeoutMs: 5 });
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 10_000 });
    proxy.delay(10);

    const local = [...(await consume(hasty, 20)), ...(await consume(hasty, 20))];
    const [decision] = await consume(patient, 1);
    await proxy.heal();

    expect(local.map(({ source }) => source)).toContain('local');
    expect([decision?.source, patient.status().breaker]).toEqual(['redis', 'closed']);
  });

  it('a slot that was released meanwhile is free again afterwards', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    await store.ready();
    const limiter = createLimiter({ name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }), store });
    const { release } = await limiter.acquire('ann');
    proxy.hang();

    await consume(createLimiter({ policy, store }), 5);
    await release();
    expect(limiter.status().breaker).not.toBe('closed');
    await proxy.heal();

    const isFree = async (): Promise<boolean> => {
      const { source, used } = await limiter.peek('ann');
      return source === 'redis' && used === 0;
    };
    expect(await until('the slot is free', isFree)).toBe(true);
  });
});

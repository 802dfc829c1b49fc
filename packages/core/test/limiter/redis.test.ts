import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  redisStore,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
  type RedisStore,
} from '@sluice/core';
import { cases, useRedis } from '@sluice/testkit';

const redis = useRedis();
const store = (): RedisStore => redisStore(redis.client, { prefix: 'sluice' });

/** How often scripts were called on the server. */
async function scriptCalls(): Promise<number> {
  const stats = await redis.client.info('commandstats');
  return ['evalsha', 'eval'].reduce((sum, name) => {
    const [, calls = '0'] = new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats) ?? [];
    return sum + Number(calls);
  }, 0);
}

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
    const limiter = createLimiter({ limit: 9, window: '1h', store, timeoutMs: 20 });

    const decision = limiter.consume('ann');
    await new Promise(setImmediate); // sent
    stall();

    expect((await decision).source).toBe('redis');
  });
});

describe('requests that wait on Redis', () => {
  it('keep their order, and take at most 1.2 calls a unit', async () => {
    const waiters = cases(4000);
    const bucket = tokenBucket({ capacity: 50, refill: 1000, every: '1s' });
    const limiter = createLimiter({
      name: 'order',
      policy: bucket,
      store: store(),
      timeoutMs: 5000,
    });
    const order: number[] = [];
    const decided: Decision[] = [];
    const before = await scriptCalls();
    await Promise.all(
      Array.from({ length: waiters }, async (_, i) => {
        decided.push(await limiter.wait('k'));
        order.push(i);
      }),
    );
    const calls = (await scriptCalls()) - before;

    expect(order).toEqual(Array.from({ length: waiters }, (_, i) => i));
    expect(calls).toBeLessThanOrEqual(1.2 * waiters + 10);
    // By the clock of the server, at no time more than the bucket has refilled since the first one.
    const firstMs = Math.min(...decided.map(({ atMs }) => atMs));
    decided.forEach(({ atMs }, i) => {
      expect(i + 1).toBeLessThanOrEqual(50 + (atMs - firstMs) + 1);
    });
    await limiter.close();
  });

  it.each<[what: string, policy: Policy]>([
    ['units', fixedWindow({ limit: 5, window: '1h' })],
    ['a slot', concurrency({ limit: 1, ttl: '1h' })],
  ])('give back what a call takes while the limiter closes: %s', async (_what, policy) => {
    const [here, there] = [1, 2].map(() => {
      return createLimiter({ name: 'closing', policy, store: store(), timeoutMs: 5000 });
    }) as [Limiter, Limiter];
    const running = here.run('k', () => 'ran');
    const closed = here.close();

    await expect(running).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
    await closed;

    expect((await there.peek('k')).used).toBe(0);
    await there.close();
  });
});

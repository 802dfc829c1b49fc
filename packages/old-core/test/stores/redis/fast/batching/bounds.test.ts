import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, slidingLog, tokenBucket } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import { watchedClient, type SentCall, type WatchedClient } from './watched-client.ts';

const redis = useRedis();
let client: WatchedClient;
beforeEach(async () => {
  await redis.admin.flushall();
  client = watchedClient(redis.client);
});

const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const window = fixedWindow({ limit: 1_000_000, window: '1h' });

const bytesOf = ({ keys, args }: SentCall): number =>
  [...keys, ...args].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

describe('ten thousand requests in one turn', () => {
  it.each([
    ['for as many keys', window, (i: number) => `key-${String(i)}`],
    ['for keys as long as they get', window, (i: number) => `${'ü'.repeat(200)}${String(i)}`],
    ['for keys with long states', slidingLog({ limit: 5, window: '1h' }), (i: number) => `key-${String(i)}`],
    [
      'of three policies',
      [
        { ...window, name: 'a-window-with-a-name-that-is-rather-long' },
        tokenBucket({ capacity: 5, refill: 700_000, every: '1s', name: 'a-bucket-with-a-name-that-is-rather-long' }),
        { ...window, name: 'another-window-with-a-name-that-is-rather-long' },
      ],
      (i: number) => `key-${String(i)}`,
    ],
  ])('go out in calls of at most 256 keys and 64 KiB: %s', async (_what, policy, keyOf) => {
    const prefix = `sluice:${'prefix/'.repeat(4)}`;
    const store = redisStore(client, { prefix, check: false });
    const limiter = createLimiter({ name: 'limiter-of-many-keys', policy, store, ...strict });
    await limiter.consume('warm');
    client.sent.length = 0;
    await redis.admin.config('RESETSTAT');

    const decisions = await Promise.all(Array.from({ length: 10_000 }, (_, i) => limiter.consume(keyOf(i))));

    const stats = await redis.admin.info('commandstats');
    expect(decisions.every(({ allowed, source }) => allowed && source === 'redis')).toBe(true);
    expect(
      Math.max(...client.sent.map(({ keys }) => new Set(keys.map((key) => key.split('}')[0])).size)),
    ).toBeLessThanOrEqual(256);
    expect(Math.max(...client.sent.map(bytesOf))).toBeLessThanOrEqual(65_536);
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])).toBe(client.sent.length);
    expect(client.sent.length).toBeLessThan(200);
  });

  it('go out in calls of at most 64 keys where each has a long state of its own', async () => {
    const store = redisStore(client, { prefix: 'sluice', check: false });
    const limiter = createLimiter({ policy: slidingLog({ limit: 5, window: '1h' }), store, ...strict });
    await limiter.consume('warm');
    client.sent.length = 0;

    await Promise.all(Array.from({ length: 1000 }, (_, i) => limiter.consume(`key-${String(i)}`)));

    // A key and its list.
    expect(Math.max(...client.sent.map(({ keys }) => keys.length))).toBeLessThanOrEqual(2 * 64);
  });

  it('for one key, of two costs in turn, go out in calls of at most 256 runs', async () => {
    const store = redisStore(client, { prefix: 'sluice', check: false });
    const limiter = createLimiter({ policy: window, store, ...strict });
    await limiter.consume('ann');
    client.sent.length = 0;

    const decisions = await Promise.all(Array.from({ length: 10_000 }, (_, i) => limiter.consume('ann', 1 + (i % 2))));

    expect(decisions.at(-1)?.remaining).toBe(1_000_000 - 1 - 15_000);
    expect(client.sent.length).toBe(Math.ceil(10_000 / 256));
    expect(Math.max(...client.sent.map(bytesOf))).toBeLessThanOrEqual(65_536);
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter, type RedisClient } from '@sluice/old-core';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

const MOST_BYTES = 20_000_000;
const TIMEOUT_MS = 10;

/** A client of a server that hangs, and how many keys each call had. */
function hung(): { readonly client: RedisClient; readonly keys: number[] } {
  const keys: number[] = [];
  const evalsha: RedisClient['evalsha'] = async (_sha1, sent) => {
    keys.push(sent.length);
    return new Promise(() => undefined);
  };
  return { client: { evalsha, eval: evalsha }, keys };
}

async function consumeAndTimeOut(limiter: Limiter, keys: readonly string[]): Promise<void> {
  const decisions = keys.map((key) => limiter.consume(key));
  await new Promise(setImmediate);
  await jest.advanceTimersByTimeAsync(TIMEOUT_MS);
  await Promise.all(decisions);
}

/** What ioredis keeps of such calls, as it was measured. */
const bytesOf = (keys: readonly number[]): number => keys.reduce((sum, count) => sum + 4_000 + 200 * count, 0);

describe('without a breaker, calls to a server that hangs', () => {
  it.each([1, 128])('of %i keys take a bounded memory; then one a second is sent', async (count) => {
    const { client, keys } = hung();
    const store = redisStore(client, { prefix: 'sluice', breaker: false });
    const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1h' }), store, timeoutMs: TIMEOUT_MS });
    const subjects = Array.from({ length: count }, (_, i) => `client-${String(i)}`);

    for (let before = -1; keys.length > before && bytesOf(keys) <= MOST_BYTES;) {
      before = keys.length;
      await consumeAndTimeOut(limiter, subjects);
    }

    expect(keys[0]).toBeGreaterThanOrEqual(count / 2);
    expect(bytesOf(keys)).toBeLessThanOrEqual(MOST_BYTES);
    expect(bytesOf(keys)).toBeGreaterThan(MOST_BYTES / 2);
    const stopped = keys.length;
    for (let i = 0; i < 300; i++) await consumeAndTimeOut(limiter, subjects.slice(0, 1));
    expect(keys.length - stopped).toBeGreaterThanOrEqual(2);
    expect(keys.length - stopped).toBeLessThanOrEqual(3);
    await limiter.close();
  });
});

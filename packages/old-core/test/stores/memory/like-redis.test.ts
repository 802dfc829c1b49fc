import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Store,
} from '@sluice/old-core';
import { cases, fakeClock, seeded, testSeed, useRedis, virtualRedisStore } from '@sluice/testkit';

const redis = useRedis();

const policy = [
  fixedWindow({ name: 'minute', limit: 30, window: '1m' }),
  slidingWindow({ name: 'steady', limit: 8, window: '10s' }),
  tokenBucket({ name: 'burst', capacity: 5, refill: 3, every: '7s', overdraft: 2 }),
];

/** What clients are called: plainly, and in ways that a key of Redis cannot hold as they are. */
const ODD = [
  'two words',
  'two\nlines',
  'é',
  'e\u0301',
  '{a}',
  '}{',
  '#a',
  '\ud800',
  '\udfff',
  '日'.repeat(256),
  'x'.repeat(257),
];
const CLIENTS = [...ODD, ...Array.from({ length: 9 }, (_, i) => `client-${String(i)}`)];

/** Some minutes in the life of twenty clients, seen through the public interface. */
async function day(storeOf: (clock: ReturnType<typeof fakeClock>) => Store): Promise<Decision[]> {
  const clock = fakeClock();
  const random = seeded(testSeed(9));
  const limiter = createLimiter({ policy, store: storeOf(clock), onStoreError: 'throw', timeoutMs: 60_000 });
  const decisions: Decision[] = [];
  for (let i = 0; i < cases(3_000); i++) {
    clock.advance(random.integer(0, 400));
    const key = random.pick(CLIENTS as [string]);
    if (random.percent(1)) await limiter.block(key, random.integer(1, 20_000));
    if (random.percent(1)) await limiter.reset(key);
    decisions.push(await limiter.consume(key, random.integer(0, 4)));
    if (random.percent(10)) await limiter.refund(random.pick(decisions as [Decision]));
  }
  return decisions;
}

describe('the memory store', () => {
  it('decides as Redis does, in every field but the source', async () => {
    const inMemory = await day((clock) => memoryStore({ clock }));
    const inRedis = await day((clock) => virtualRedisStore(redis.client, clock, { prefix: 'sluice' }));

    expect(inRedis.map((decision) => ({ ...decision, source: 'memory' }))).toEqual(inMemory);
    expect(new Set(inMemory.map(({ outcome }) => outcome))).toEqual(new Set(['allowed', 'denied', 'blocked']));
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type CarryOver,
  type Policy,
} from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { algorithms } from '@sluice/old-core/spi';
import { take, until } from '@sluice/testkit';
import { countedClient } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter } = useManaged();

const apps = ['checkout'];
const policy = managed('orders');

/** So many units, of which none comes back while a test runs. */
const KINDS = {
  fixedWindow: (limit: number) => fixedWindow({ limit, window: '1h' }),
  slidingWindow: (limit: number) => slidingWindow({ limit, window: '1h' }),
  slidingLog: (limit: number) => slidingLog({ limit, window: '1h' }),
  concurrency: (limit: number) => concurrency({ limit, ttl: '1h' }),
  slidingCounter: (limit: number) => slidingCounter({ limit, window: '1h' }),
  tokenBucket: (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1h' }),
  intervalBucket: (capacity: number) => tokenBucket({ capacity, refill: 1, every: '1h', mode: 'interval' }),
  leakyBucket: (atOnce: number) => leakyBucket({ limit: 1, window: '1h', maxDelay: (atOnce - 1) * 3_600_000 }),
} as const satisfies Record<string, (limit: number) => Policy>;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];
const pairs = kinds.flatMap((from) => kinds.map((to) => [from, to] as const));

/** What is left of a limit, after so many of ten units were used before it took their place. */
async function leftAfter(
  [from, to]: readonly [Kind, Kind],
  used: number,
  limit: number,
  carryOver: CarryOver,
): Promise<number> {
  const here = policies();
  await here.put('orders', KINDS[from](10), { apps });
  await take(limiter({ policy }), 'ann', used);
  await here.put('orders', KINDS[to](limit), { apps, carryOver });
  const orders = limiter({ policy });
  const peeked = await orders.peek('ann');
  await take(orders, 'ann'); // converts it in Redis, even where it is denied
  const after = await orders.peek('ann');
  expect(peeked.limit).toBe(limit);
  expect(after.remaining).toBe(Math.max(peeked.remaining - 1, 0));
  return peeked.remaining;
}

it('these tests cover every kind of policy', () => {
  expect(kinds.toSorted()).toEqual([...algorithms.values()].map(({ name }) => name).toSorted());
});

describe.each(pairs)('from %s to %s', (from, to) => {
  it.each([
    ['keep', 20, 14],
    ['keep', 7, 1],
    ['keep', 6, 0],
    ['keep', 3, 0],
    ['keep', 1, 0],
    ['reset', 20, 20],
    ['reset', 3, 3],
  ] as const)('%s: of %i units %i are left, after 6 of 10 were used', async (carryOver, limit, left) => {
    expect(await leftAfter([from, to], 6, limit, carryOver)).toBe(left);
  });

  it('keep: a lowered limit waits the old units out, and what was denied stays denied', async () => {
    const here = policies();
    await here.put('orders', KINDS[from](10), { apps });
    const orders = limiter({ policy });
    await take(orders, 'ann', 9);
    await here.put('orders', KINDS[to](3), { apps });
    await until('the change is known', async () => (await orders.peek('bob')).limit === 3);

    const denied = await take(orders, 'ann');

    expect(denied).toMatchObject({ allowed: false, limit: 3, remaining: 0 });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
  });
});

describe('a window that goes on under another limit', () => {
  it.each(['fixedWindow', 'slidingWindow'] as const)('%s: ends when it would have ended', async (kind) => {
    const here = policies();
    await here.put('orders', KINDS[kind](10), { apps });
    const orders = limiter({ policy });
    const before = await orders.consume('ann', 4);
    await here.put('orders', KINDS[kind](20), { apps });
    await until('the change is known', async () => (await orders.peek('bob')).limit === 20);

    const after = await orders.consume('ann');

    // Of a sliding window the newest block ends it: the same one, but for a run at its very end.
    expect(after.atMs + after.resetAfterMs - (before.atMs + before.resetAfterMs)).toBeLessThanOrEqual(
      kind === 'fixedWindow' ? 0 : 360_000,
    );
    expect(after.atMs + after.resetAfterMs).toBeGreaterThanOrEqual(before.atMs + before.resetAfterMs);
  });

  it('fixedWindow: also where windows are longer or shorter from now on; the next one is of that length', async () => {
    const here = policies();
    await here.put('orders', fixedWindow({ limit: 10, window: '1h' }), { apps });
    const orders = limiter({ policy });
    const before = await orders.consume('ann', 4);
    await here.put('orders', fixedWindow({ limit: 10, window: '1s' }), { apps });
    await until('the change is known', async () => (await orders.peek('bob')).policies[0]?.windowMs === 1000);

    const [ann, bob] = [await orders.consume('ann'), await orders.consume('bob')];

    expect(ann.atMs + ann.resetAfterMs).toBe(before.atMs + before.resetAfterMs);
    expect(ann.remaining).toBe(5);
    expect(bob.resetAfterMs).toBe(1000);
  });
});

describe('a key that was not used during several changes', () => {
  it('is converted by the definition that wrote it, at the price of one more round trip, once', async () => {
    const here = policies();
    await here.put('orders', KINDS.fixedWindow(10), { apps });
    await limiter({ policy }).consume('ann', 6);
    await here.put('orders', KINDS.slidingWindow(100), { apps });
    await here.put('orders', KINDS.tokenBucket(1000), { apps });
    await here.put('orders', KINDS.fixedWindow(8), { apps });
    const client = countedClient(redis.admin);
    const orders = limiter({ policy, store: redisStore(client, { prefix: 'sluice' }) });

    const first = await orders.consume('ann');
    const roundTrips = client.decisions.length;
    const second = await orders.consume('ann');

    expect(first).toMatchObject({ allowed: true, limit: 8, remaining: 1 });
    expect(roundTrips).toBe(2);
    expect(second).toMatchObject({ allowed: true, remaining: 0 });
    expect(client.decisions).toHaveLength(3);
  });

  it.each([
    ['first', ['reset', 'keep', 'keep']],
    ['next', ['keep', 'reset', 'keep']],
    ['last', ['keep', 'keep', 'reset']],
  ] as const)('is reset, if the %s of the changes was a reset', async (_which, carryOvers) => {
    const here = policies();
    await here.put('orders', KINDS.fixedWindow(10), { apps });
    await limiter({ policy }).consume('ann', 6);
    for (const [i, carryOver] of carryOvers.entries()) {
      await here.put('orders', KINDS.fixedWindow(20 + i), { apps, carryOver });
    }

    expect((await limiter({ policy }).consume('ann')).remaining).toBe(21);
  });

  it('is not reset by a reset from before it was written', async () => {
    const here = policies();
    await here.put('orders', KINDS.fixedWindow(10), { apps });
    await here.put('orders', KINDS.fixedWindow(20), { apps, carryOver: 'reset' });
    await limiter({ policy }).consume('ann', 6);
    await here.put('orders', KINDS.slidingWindow(30), { apps });
    await here.put('orders', KINDS.fixedWindow(40), { apps });

    expect((await limiter({ policy }).consume('ann')).remaining).toBe(33);
  });

  it('counts as used up, where its version is forgotten: after more than sixteen changes', async () => {
    const here = policies();
    await here.put('orders', KINDS.fixedWindow(100), { apps });
    await limiter({ policy }).consume('ann', 6);
    for (let i = 1; i <= 16; i++) await here.put('orders', KINDS.fixedWindow(100 + i), { apps });
    const known = await limiter({ policy }).peek('ann');

    await here.put('orders', KINDS.fixedWindow(117), { apps });
    const forgotten = limiter({ policy });

    expect(known).toMatchObject({ limit: 116, remaining: 110 });
    expect(await forgotten.peek('ann')).toMatchObject({ allowed: false, limit: 117, remaining: 0 });
    expect(await forgotten.consume('ann')).toMatchObject({ allowed: false, remaining: 0 });
    expect(await forgotten.consume('bob')).toMatchObject({ allowed: true, remaining: 116 });
    await forgotten.reset('ann');
    expect((await forgotten.consume('ann')).allowed).toBe(true);
  });
});

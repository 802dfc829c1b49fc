import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
  type Reservation,
  type SingleLimiterOptions,
} from '@sluice/core';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
let limiters: Limiter[] = [];
beforeEach(async () => {
  await redis.admin.flushall();
});
afterEach(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
  limiters = [];
});

const LIMIT = 20_000;
const day = fixedWindow({ limit: LIMIT, window: '1d', align: 'clock' });

/** A limiter as another process would have it, on a store of its own. */
function leasing(policy: Policy | readonly Policy[] = day, options: Partial<SingleLimiterOptions> = {}): Limiter {
  const store = redisStore(redis.server.storeUrl);
  const limiter = createLimiter({ name: 'hot', policy, store, lease: true, timeoutMs: 2000, ...options });
  limiters.push(limiter);
  return limiter;
}

/** Asks until decisions come from a lease, and answers the last one. */
async function heat(limiter: Limiter, key = 'key'): Promise<Decision> {
  let last = await limiter.consume(key);
  await until('the key is leased', async () => {
    for (let i = 0; i < 20 && last.source !== 'lease'; i++) last = await limiter.consume(key);
    return last.source === 'lease';
  });
  return last;
}

/** How much the store says is left. */
async function leftInStore(policy: Policy | readonly Policy[] = day): Promise<number> {
  const { remaining } = await leasing(policy, { name: 'hot', lease: false }).peek('key');
  return remaining;
}

/** Everything that can be had of a key by these limiters together. */
async function drain(all: readonly Limiter[], most: number, key = 'key'): Promise<number> {
  const counts = await Promise.all(
    all.map(async (limiter) => {
      let allowed = 0;
      for (let i = 0; i < most; i++) {
        const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume(key)));
        const count = decisions.filter(({ allowed }) => allowed).length;
        allowed += count;
        if (count === 0) break;
      }
      return allowed;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

describe('a key that is asked for often', () => {
  it('is decided from memory, after some decisions of the store', async () => {
    const limiter = leasing();

    const decision = await heat(limiter);

    expect(decision).toMatchObject({
      allowed: true,
      outcome: 'allowed',
      policy: 'hot',
      cost: 1,
      limit: LIMIT,
      retryAfterMs: 0,
    });
    expect(decision.policies).toHaveLength(1);
    expect(decision.remaining).toBeLessThan(LIMIT);
  });

  it('is told what this process holds as what remains, which the store has counted already', async () => {
    const limiter = leasing();
    let taken = 1;
    for (let last = await limiter.consume('key'); last.source !== 'lease'; taken++) last = await limiter.consume('key');

    const { remaining } = await limiter.consume('key');

    expect((await leftInStore()) + taken + 1 + remaining).toBeLessThanOrEqual(LIMIT);
  });

  it('is allowed exactly as often as the limit allows, over several processes', async () => {
    const all = [leasing(), leasing(), leasing()];

    expect(await drain(all, LIMIT)).toBe(LIMIT);
  });

  it('is denied by the store when nothing is left anywhere', async () => {
    const policy = fixedWindow({ limit: 500, window: '1d', align: 'clock' });
    const limiter = leasing(policy);
    await drain([limiter], 500);

    expect(await limiter.consume('key')).toMatchObject({ allowed: false, outcome: 'denied', remaining: 0, limit: 500 });
  });

  it('holds to several policies at once', async () => {
    const policies = [
      slidingWindow({ name: 'sliding', limit: 900, window: '10d' }),
      fixedWindow({ name: 'fixed', limit: 700, window: '1d', align: 'clock' }),
    ];
    const all = [leasing(policies), leasing(policies)];

    expect(await drain(all, 900)).toBe(700);
  });

  it('shows the smaller bucket that is counted', async () => {
    const limiter = leasing(tokenBucket({ capacity: 1000, refill: 1000, every: '1s' }));

    expect(await limiter.consume('key')).toMatchObject({ source: 'redis', limit: 500 });
    expect(await heat(limiter)).toMatchObject({ source: 'lease', limit: 500 });
  });

  it('is decided by the store where a request costs more than is held', async () => {
    const limiter = leasing();
    const { remaining } = await heat(limiter);

    const dear = await limiter.consume('key', remaining + 5000);

    expect(dear).toMatchObject({ source: 'redis', allowed: true, cost: remaining + 5000 });
  });
});

describe('a key that is asked for now and then', () => {
  it('is decided by the store alone', async () => {
    const limiter = leasing();
    const sources = new Set<string>();

    for (let i = 0; i < 300; i++) sources.add((await limiter.consume(`key-${String(i % 100)}`)).source);

    expect([...sources]).toEqual(['redis']);
    expect(await redis.admin.dbsize()).toBe(100);
  });
});

describe('what is held of a key', () => {
  it('is given back when the limiter is closed, and another can take it at once', async () => {
    const limiter = leasing();
    let taken = 0;
    for (let last: Decision | undefined; last?.source !== 'lease'; taken++) last = await limiter.consume('key');

    await limiter.close();

    expect(await leftInStore()).toBe(LIMIT - taken);
    expect(await leasing(day, { lease: false }).consume('key', LIMIT - taken)).toMatchObject({ allowed: true });
  });

  it('is given back when no request asks for it any more', async () => {
    const limiter = leasing();
    let taken = 0;
    for (let last: Decision | undefined; last?.source !== 'lease'; taken++) last = await limiter.consume('key');

    await until('all is given back', async () => (await leftInStore()) === LIMIT - taken);

    expect((await limiter.consume('key')).source).toBe('redis');
  });

  it('is shown by a peek, which takes nothing of it', async () => {
    const limiter = leasing();

    await until('what is left after two peeks and a consume is what was left before, less one', async () => {
      const { remaining } = await heat(limiter);
      const peeks = [await limiter.peek('key'), await limiter.peek('key')];
      const next = await limiter.consume('key');
      return (
        peeks.every((peek) => peek.source === 'lease' && peek.allowed && peek.remaining === remaining) &&
        next.remaining === remaining - 1
      );
    });
  });

  it('gives nothing back for a decision of a peek', async () => {
    const limiter = leasing();
    let taken = 0;
    let peek: Decision | undefined;
    while (peek?.source !== 'lease') {
      await limiter.consume('key');
      taken++;
      peek = await limiter.peek('key');
    }

    await limiter.refund(peek);
    await limiter.close();

    expect(await leftInStore()).toBe(LIMIT - taken);
  });

  it.each(['reset', 'block'] as const)('is void as soon as this process calls %s', async (call) => {
    const limiter = leasing();
    await heat(limiter);

    if (call === 'reset') await limiter.reset('key');
    else await limiter.block('key', '1h');

    const after = await limiter.consume('key');
    expect(after).toMatchObject({ source: 'redis', outcome: call === 'reset' ? 'allowed' : 'blocked' });
    expect(after.remaining).toBe(call === 'reset' ? LIMIT - 1 : 0);
  });

  it('is void for the other limiters of that name in this process, too', async () => {
    const store = redisStore(redis.server.storeUrl);
    const [one, other] = [leasing(day, { store, shared: true }), leasing(day, { store, shared: true })];
    await heat(one);

    await other.block('key', '1h');

    expect(await one.consume('key')).toMatchObject({ outcome: 'blocked' });
  });
});

describe('a decision from a lease', () => {
  it('can be given back once, to the window that it was charged to', async () => {
    const limiter = leasing();
    let taken = 0;
    let last: Decision | undefined;
    for (; last?.source !== 'lease'; taken++) last = await limiter.consume('key');

    await limiter.refund(last);
    await limiter.refund(last);
    await limiter.close();

    expect(await leftInStore()).toBe(LIMIT - taken + 1);
  });

  it('can cost more or less than was reserved', async () => {
    const limiter = leasing();
    let taken = 0;
    const reserve = async (): Promise<Reservation> => {
      for (;;) {
        const reservation = await limiter.reserve('key', 2);
        if (reservation.decision.source === 'lease') return reservation;
        taken += 2;
      }
    };

    await (await reserve()).settle(5);
    await (await reserve()).settle(1);
    await (await reserve()).cancel();
    await limiter.close();

    expect(await leftInStore()).toBe(LIMIT - taken - 6);
  });

  it('belongs to the limiter that made it', async () => {
    const decision = await heat(leasing());

    await expect(leasing(day, { name: 'other' }).refund(decision)).rejects.toMatchObject({
      code: 'SLUICE_DECISION_UNKNOWN',
    });
  });
});

describe('units of a leased key, where no decision is at hand', () => {
  const hundred = fixedWindow({ limit: 100, window: '1d', align: 'clock' });

  it('are refunded up to those that requests have used', async () => {
    const limiter = leasing(hundred);
    await heat(limiter);

    for (let i = 0; i < 100; i++) await limiter.refund('key');

    expect(await drain([limiter], 10)).toBe(100);
  });

  it('are charged before anything else is allowed', async () => {
    const limiter = leasing(hundred);
    await heat(limiter);

    await limiter.charge('key', 100);

    expect((await limiter.consume('key')).allowed).toBe(false);
  });
});

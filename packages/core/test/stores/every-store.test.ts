import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  createPolicies,
  fixedWindow,
  managed,
  memoryStore,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
  type SingleLimiterOptions,
} from '@sluice/core';
import { fixedMembership, splitStore } from '@sluice/split';
import { until, useRedis, withoutFastPath } from '@sluice/testkit';

const redis = useRedis();
let open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.map((one) => one.close()));
  open = [];
});
function keep<T extends { close(): Promise<void> }>(made: T): T {
  open.push(made);
  return made;
}

let made = 0;
const limiterOf = (options: SingleLimiterOptions): Limiter =>
  keep(createLimiter({ name: `every-${String(made++)}`, onStoreError: 'throw', timeoutMs: 10_000, ...options }));

/** A limiter of a policy, as a user sets it up. */
const SETUPS: Readonly<Record<string, (policy: Policy) => Limiter | Promise<Limiter>>> = {
  memory: (policy) => limiterOf({ policy, store: memoryStore() }),
  Redis: (policy) => limiterOf({ policy, store: redisStore(redis.client) }),
  'Redis without a denial cache': (policy) =>
    limiterOf({ policy, store: redisStore(redis.client), denialCache: false }),
  'Redis, one call a request': (policy) => limiterOf({ policy, store: withoutFastPath(redisStore(redis.client)) }),
  split: (policy) =>
    limiterOf({ policy, store: splitStore({ membership: fixedMembership({ instances: 1, index: 0 }) }) }),
  // No server listens on port 1.
  'the local fallback': (policy) =>
    limiterOf({ policy, store: redisStore('redis://127.0.0.1:1'), onStoreError: 'local' }),
  managed: async (policy) => {
    const name = `every-${String(made++)}`;
    const policies = keep(createPolicies(redis.admin));
    await policies.put(name, policy, { apps: ['test'] });
    return limiterOf({ policy: managed(name), app: 'test', policies, store: redisStore(redis.client) });
  },
};
const LEASED = (policy: Policy): Limiter => limiterOf({ policy, store: redisStore(redis.client), lease: true });

const long = '365d';
const kinds: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', fixedWindow({ limit: 10, window: long, align: 'clock' })],
  ['slidingWindow', slidingWindow({ limit: 10, window: long })],
  ['tokenBucket', tokenBucket({ capacity: 10, refill: 1, every: long })],
];
const everywhere = Object.keys(SETUPS).flatMap((store) =>
  kinds.map(([kind, policy]) => ({ store, kind, policy, setup: SETUPS[store] as (typeof SETUPS)[string] })),
);
// A leased bucket is smaller by what it refills while a slice is held.
const leased = kinds
  .filter(([kind]) => kind !== 'tokenBucket')
  .map(([kind, policy]) => ({ store: 'Redis with leases', kind, policy, setup: LEASED }));

describe.each([...everywhere, ...leased])('on $store, under $kind, a key', ({ setup, policy, store }) => {
  it('says what is used of it', async () => {
    const limiter = await setup(policy);

    expect(await limiter.consume('key', 4)).toMatchObject({ used: 4, policies: [{ used: 4 }] });
    expect(await limiter.consume('key', 7)).toMatchObject({ allowed: false, used: 4 });
    expect(await limiter.peek('key', 0)).toMatchObject({ used: 4, limit: 10, remaining: 6 });
  });

  it('is charged and refunded where no decision is at hand', async () => {
    const limiter = await setup(policy);

    await limiter.charge('key', 3);
    expect((await limiter.consume('key', 2)).used).toBe(5);
    await limiter.refund('key', 4);
    expect((await limiter.peek('key', 0)).used).toBe(1);
    await limiter.refund('key', 4);
    expect(await limiter.consume('key', 10)).toMatchObject({ allowed: true, used: 10 });
    await limiter.charge('key', 5);
    expect(await limiter.consume('key')).toMatchObject({
      allowed: false,
      remaining: 0,
      used: store === 'split' ? 10 : 15,
    });
    await limiter.refund('key', 6);
    expect(await limiter.consume('key')).toMatchObject({ allowed: true, used: 10 });
  });

  it('is blocked and forgotten in one step', async () => {
    const limiter = await setup(policy);
    await limiter.consume('key', 9);

    const blocked = limiter.block('key', '1h', { reset: true });
    await (store === 'the local fallback' ? expect(blocked).rejects.toThrow('did not decide') : blocked);

    expect((await limiter.consume('key')).outcome).toBe('blocked');
    await limiter.unblock('key').catch(() => undefined); // edits take effect in the fallback, and reject
    expect(await limiter.consume('key')).toMatchObject({ allowed: true, used: 1 });
  });
});

describe.each(Object.entries(SETUPS))('a limit of 0 on %s', (_store, setup) => {
  it.each([
    ['fixedWindow', fixedWindow({ limit: 0, window: long, align: 'clock' })],
    ['slidingWindow', slidingWindow({ limit: 0, window: long })],
  ])('denies, and names no time, under %s', async (_kind, policy) => {
    const limiter = await setup(policy);
    const denied = { allowed: false, outcome: 'denied', limit: 0, remaining: 0, used: 0, retryAfterMs: null };

    expect(await limiter.consume('key')).toMatchObject({ ...denied, policies: [{ nextAfterMs: null }] });
    expect(await limiter.peek('key')).toMatchObject(denied);
    expect(await limiter.consume('key', 0)).toMatchObject({ allowed: true, limit: 0, remaining: 0 });
  });
});

describe.each(Object.entries(SETUPS))('denials that count, on %s', (store, setup) => {
  it('are all seen by the refunds that follow, however many come at once', async () => {
    const limiter = await setup(fixedWindow({ limit: 3, window: long, align: 'clock', countDenied: true }));

    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('key')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3);
    if (store !== 'split') expect((await limiter.peek('key', 0)).used).toBe(20);
    await limiter.refund('key', 17);

    expect((await limiter.consume('key')).allowed).toBe(false); // and makes 4 of 3
    await limiter.refund('key', 2);
    expect((await limiter.consume('key')).allowed).toBe(true);
  });
});

describe('a lease of denials that count', () => {
  it('is an error when the limiter is made', () => {
    const policy = fixedWindow({ limit: 3, window: '1m', countDenied: true });

    expect(() => LEASED(policy)).toThrow(expect.objectContaining({ code: 'SLUICE_POLICY_INVALID', field: 'lease' }));
  });
});

describe('a decision from a lease', () => {
  it('states as used what it does not state as remaining', async () => {
    const limiter = LEASED(fixedWindow({ limit: 20_000, window: long, align: 'clock' }));
    let last = await limiter.consume('hot');
    await until('the key is leased', async () => {
      for (let i = 0; i < 20 && last.source !== 'lease'; i++) last = await limiter.consume('hot');
      return last.source === 'lease';
    });

    expect(last.used).toBe(last.limit - last.remaining);
    expect(last.policies[0]?.used).toBe(last.used);
  });
});

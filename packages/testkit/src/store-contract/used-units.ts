import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { take, type StoreSetup } from './setup.ts';

const MINUTE = 60_000;

const ofTen: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', fixedWindow({ limit: 10, window: '1m' })],
  ['slidingWindow', slidingWindow({ limit: 10, window: '1m' })],
  ['slidingCounter', slidingCounter({ limit: 10, window: '1m' })],
  ['slidingLog', slidingLog({ limit: 10, window: '1m' })],
  ['tokenBucket', tokenBucket({ capacity: 10, refill: 1, every: '1m' })],
  ['tokenBucket by intervals', tokenBucket({ capacity: 10, refill: 1, every: '1m', mode: 'interval' })],
  ['leakyBucket', leakyBucket({ limit: 1, window: '1m', maxDelay: '9m' })],
  ['concurrency', concurrency({ limit: 10, ttl: '1m' })],
];

const ofNone: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', fixedWindow({ limit: 0, window: '1m' })],
  ['slidingWindow', slidingWindow({ limit: 0, window: '1m' })],
  ['slidingCounter', slidingCounter({ limit: 0, window: '1m' })],
  ['slidingLog', slidingLog({ limit: 0, window: '1m' })],
  ['concurrency', concurrency({ limit: 0, ttl: '1m' })],
];

/** `used` in decisions, limits of 0, and denials that count. */
export function describeUsedUnits({ limiter: setup }: StoreSetup): void {
  describe('used', () => {
    it.each(ofTen)('is what has been taken of a policy, by %s', async (_name, policy) => {
      const { limiter } = setup(policy);

      const decisions = [await take(limiter, 'key', 3), await take(limiter, 'key', 4), await take(limiter, 'key', 5)];

      expect(decisions.map(({ allowed, used }) => [allowed, used])).toEqual([
        [true, 3],
        [true, 7],
        [false, 7],
      ]);
      expect(decisions.map(({ policies }) => policies[0]?.used)).toEqual([3, 7, 7]);
      expect(await limiter.peek('key', 2)).toMatchObject({ used: 7, policies: [{ used: 7 }] });
      expect((await limiter.peek('other')).used).toBe(0);
    });

    it('is that of the policy which decided', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 100, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 5, refill: 1, every: '1m' }),
      ]);
      await limiter.charge('key', 3);

      expect(await limiter.peek('key', 2)).toMatchObject({
        policy: 'narrow',
        used: 3,
        policies: [{ used: 3 }, { used: 3 }],
      });
      expect(await limiter.consume('key', 2)).toMatchObject({ policy: 'narrow', used: 5 });
    });

    it('rounds the debt of a bucket and the estimate of a counter up', async () => {
      const bucket = setup(tokenBucket({ capacity: 10, refill: 1, every: '1m' }));
      await bucket.limiter.consume('key', 3);
      bucket.clock.advance(1);
      expect((await bucket.limiter.peek('key', 0)).used).toBe(3);
      bucket.clock.advance(MINUTE);
      expect((await bucket.limiter.peek('key', 0)).used).toBe(2);

      const counter = setup(slidingCounter({ limit: 10, window: '1m' }));
      counter.clock.atMs = Math.ceil(counter.clock.atMs / MINUTE) * MINUTE;
      await counter.limiter.consume('key', 4);
      counter.clock.advance(MINUTE + 1);
      expect((await counter.limiter.peek('key', 0)).used).toBe(4);
      counter.clock.advance(MINUTE / 2);
      expect((await counter.limiter.peek('key', 0)).used).toBe(2);
    });

    it('passes the limit by an overdraft, and by units settled later', async () => {
      const bucket = setup(tokenBucket({ capacity: 10, refill: 1, every: '1m', overdraft: 20 })).limiter;
      expect(await bucket.consume('key', 25)).toMatchObject({ allowed: true, remaining: 0, used: 25 });

      const { limiter } = setup(fixedWindow({ limit: 10, window: '1m' }));
      const { settle } = await limiter.reserve('key', 4);
      await settle(14);
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, remaining: 0, used: 14 });
    });

    it('stays as it is while the key is blocked', async () => {
      const { limiter } = setup(fixedWindow({ limit: 10, window: '1m' }));
      await limiter.consume('key', 4);
      await limiter.block('key', '1h');

      expect(await limiter.consume('key')).toMatchObject({ outcome: 'blocked', remaining: 0, used: 4 });
    });
  });

  describe('a limit of 0', () => {
    it.each(ofNone)('denies every cost above 0, and knows no time to come again, by %s', async (_name, policy) => {
      const { limiter } = setup(policy);

      const denied = { allowed: false, outcome: 'denied', limit: 0, remaining: 0, retryAfterMs: null, resetAfterMs: 0 };
      expect(await take(limiter, 'key')).toMatchObject({ ...denied, used: 0, policies: [{ nextAfterMs: null }] });
      expect(await take(limiter, 'key', 7)).toMatchObject(denied);
      expect(await limiter.peek('key')).toMatchObject(denied);
      expect(await limiter.peek('key', 0)).toMatchObject({ allowed: true, limit: 0, remaining: 0 });
    });

    it('is the policy that decides beside others, and takes nothing of them', async () => {
      const { limiter } = setup([
        fixedWindow({ name: 'some', limit: 5, window: '1m' }),
        fixedWindow({ name: 'none', limit: 0, window: '1m' }),
      ]);

      expect(await limiter.consume('key')).toMatchObject({ allowed: false, policy: 'none', retryAfterMs: null });
      expect(await limiter.peek('key', 0)).toMatchObject({ policy: 'none', policies: [{ used: 0 }, { used: 0 }] });
    });
  });

  describe('a policy that counts what it denies', () => {
    const counting = (limit: number, name?: string): Policy =>
      fixedWindow({ limit, window: '1m', countDenied: true, ...(name === undefined ? {} : { name }) });

    it('adds the cost of a denied request, and never moves the end of the window', async () => {
      const { limiter, clock } = setup(counting(5));
      await limiter.consume('key', 3);
      clock.advance(10_000);

      const denied = { allowed: false, remaining: 0, retryAfterMs: 50_000, resetAfterMs: 50_000 };
      expect(await limiter.consume('key', 3)).toMatchObject({ ...denied, used: 6 });
      expect(await limiter.consume('key')).toMatchObject({ ...denied, used: 7 });
      expect(await limiter.consume('key', 9)).toMatchObject({ ...denied, used: 16, retryAfterMs: null });
      clock.advance(49_999);
      expect((await limiter.consume('key')).allowed).toBe(false);
      clock.advance(1);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, used: 1 });
    });

    it('counts each of many denials that come at once', async () => {
      const { limiter } = setup(counting(10));

      const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('key')));

      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect((await limiter.peek('key', 0)).used).toBe(100);
    });

    it('opens a window with a cost that can never fit', async () => {
      const { limiter } = setup(counting(5));

      expect(await limiter.consume('key', 6)).toMatchObject({ allowed: false, retryAfterMs: null, used: 6 });
      expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: MINUTE, used: 7 });
    });

    it('adds nothing for a peek, a block, or the denial of another policy', async () => {
      const { limiter } = setup([counting(5, 'counting'), fixedWindow({ name: 'other', limit: 2, window: '1m' })]);
      await limiter.consume('key', 2);

      await limiter.peek('key', 4);
      await limiter.consume('key', 1);
      expect((await limiter.peek('key', 0)).policies[0]?.used).toBe(2);
      await limiter.block('key', '1s');
      await limiter.consume('key', 4);
      await limiter.unblock('key');
      expect((await limiter.peek('key', 0)).policies[0]?.used).toBe(2);
      await limiter.consume('key', 4);
      expect((await limiter.peek('key', 0)).policies.map(({ used }) => used)).toEqual([6, 2]);
    });

    it('gives back what denials have added, too', async () => {
      const { limiter } = setup(counting(5));
      const decision = await limiter.consume('key', 5);
      await limiter.consume('key', 2);

      await limiter.refund(decision, 3);

      expect(await limiter.peek('key')).toMatchObject({ allowed: true, used: 4, remaining: 1 });
    });
  });
}

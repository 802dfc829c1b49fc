import assert from 'node:assert/strict';
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
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
export function describeUsedUnits({ describe, it }: Suite, { limiter: setup }: StoreSetup): void {
  describe('used', () => {
    for (const [name, policy] of ofTen) {
      it(`is what has been taken of a policy, by ${name}`, async () => {
        const { limiter } = setup(policy);

        const decisions = [await take(limiter, 'key', 3), await take(limiter, 'key', 4), await take(limiter, 'key', 5)];

        assert.deepEqual(
          decisions.map(({ allowed, used }) => [allowed, used]),
          [
            [true, 3],
            [true, 7],
            [false, 7],
          ],
        );
        assert.deepEqual(
          decisions.map(({ policies }) => policies[0]?.used),
          [3, 7, 7],
        );
        matches(await limiter.peek('key', 2), { used: 7, policies: [{ used: 7 }] });
        assert.equal((await limiter.peek('other')).used, 0);
      });
    }

    it('is that of the policy which decided', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 100, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 5, refill: 1, every: '1m' }),
      ]);
      await limiter.charge('key', 3);

      matches(await limiter.peek('key', 2), {
        policy: 'narrow',
        used: 3,
        policies: [{ used: 3 }, { used: 3 }],
      });
      matches(await limiter.consume('key', 2), { policy: 'narrow', used: 5 });
    });

    it('rounds the debt of a bucket and the estimate of a counter up', async () => {
      const bucket = setup(tokenBucket({ capacity: 10, refill: 1, every: '1m' }));
      await bucket.limiter.consume('key', 3);
      bucket.clock.advance(1);
      assert.equal((await bucket.limiter.peek('key', 0)).used, 3);
      bucket.clock.advance(MINUTE);
      assert.equal((await bucket.limiter.peek('key', 0)).used, 2);

      const counter = setup(slidingCounter({ limit: 10, window: '1m' }));
      counter.clock.atMs = Math.ceil(counter.clock.atMs / MINUTE) * MINUTE;
      await counter.limiter.consume('key', 4);
      counter.clock.advance(MINUTE + 1);
      assert.equal((await counter.limiter.peek('key', 0)).used, 4);
      counter.clock.advance(MINUTE / 2);
      assert.equal((await counter.limiter.peek('key', 0)).used, 2);
    });

    it('passes the limit by an overdraft, and by units settled later', async () => {
      const bucket = setup(tokenBucket({ capacity: 10, refill: 1, every: '1m', overdraft: 20 })).limiter;
      matches(await bucket.consume('key', 25), { allowed: true, remaining: 0, used: 25 });

      const { limiter } = setup(fixedWindow({ limit: 10, window: '1m' }));
      const { settle } = await limiter.reserve('key', 4);
      await settle(14);
      matches(await limiter.peek('key'), { allowed: false, remaining: 0, used: 14 });
    });

    it('stays as it is while the key is blocked', async () => {
      const { limiter } = setup(fixedWindow({ limit: 10, window: '1m' }));
      await limiter.consume('key', 4);
      await limiter.block('key', '1h');

      matches(await limiter.consume('key'), { outcome: 'blocked', remaining: 0, used: 4 });
    });
  });

  describe('a limit of 0', () => {
    for (const [name, policy] of ofNone) {
      it(`denies every cost above 0, and knows no time to come again, by ${name}`, async () => {
        const { limiter } = setup(policy);

        const denied = {
          allowed: false,
          outcome: 'denied',
          limit: 0,
          remaining: 0,
          retryAfterMs: null,
          resetAfterMs: 0,
        };
        matches(await take(limiter, 'key'), { ...denied, used: 0, policies: [{ nextAfterMs: null }] });
        matches(await take(limiter, 'key', 7), denied);
        matches(await limiter.peek('key'), denied);
        matches(await limiter.peek('key', 0), { allowed: true, limit: 0, remaining: 0 });
      });
    }

    it('is the policy that decides beside others, and takes nothing of them', async () => {
      const { limiter } = setup([
        fixedWindow({ name: 'some', limit: 5, window: '1m' }),
        fixedWindow({ name: 'none', limit: 0, window: '1m' }),
      ]);

      matches(await limiter.consume('key'), { allowed: false, policy: 'none', retryAfterMs: null });
      matches(await limiter.peek('key', 0), { policy: 'none', policies: [{ used: 0 }, { used: 0 }] });
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
      matches(await limiter.consume('key', 3), { ...denied, used: 6 });
      matches(await limiter.consume('key'), { ...denied, used: 7 });
      matches(await limiter.consume('key', 9), { ...denied, used: 16, retryAfterMs: null });
      clock.advance(49_999);
      assert.equal((await limiter.consume('key')).allowed, false);
      clock.advance(1);
      matches(await limiter.consume('key'), { allowed: true, used: 1 });
    });

    it('counts each of many denials that come at once', async () => {
      const { limiter } = setup(counting(10));

      const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('key')));

      assert.equal(decisions.filter(({ allowed }) => allowed).length, 10);
      assert.equal((await limiter.peek('key', 0)).used, 100);
    });

    it('opens a window with a cost that can never fit', async () => {
      const { limiter } = setup(counting(5));

      matches(await limiter.consume('key', 6), { allowed: false, retryAfterMs: null, used: 6 });
      matches(await limiter.consume('key'), { allowed: false, retryAfterMs: MINUTE, used: 7 });
    });

    it('adds nothing for a peek, a block, or the denial of another policy', async () => {
      const { limiter } = setup([counting(5, 'counting'), fixedWindow({ name: 'other', limit: 2, window: '1m' })]);
      await limiter.consume('key', 2);

      await limiter.peek('key', 4);
      await limiter.consume('key', 1);
      assert.equal((await limiter.peek('key', 0)).policies[0]?.used, 2);
      await limiter.block('key', '1s');
      await limiter.consume('key', 4);
      await limiter.unblock('key');
      assert.equal((await limiter.peek('key', 0)).policies[0]?.used, 2);
      await limiter.consume('key', 4);
      assert.deepEqual(
        (await limiter.peek('key', 0)).policies.map(({ used }) => used),
        [6, 2],
      );
    });

    it('gives back what denials have added, too', async () => {
      const { limiter } = setup(counting(5));
      const decision = await limiter.consume('key', 5);
      await limiter.consume('key', 2);

      await limiter.refund(decision, 3);

      matches(await limiter.peek('key'), { allowed: true, used: 4, remaining: 1 });
    });
  });
}

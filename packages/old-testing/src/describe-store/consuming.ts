import assert from 'node:assert/strict';
import { createLimiter, slidingLog, slidingWindow, tokenBucket } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** Databases that fold case, trim, stop at a NUL or replace what is no Unicode take some of these for one key. */
const ALIKE = [
  ...[
    'ann',
    'Ann',
    'ANN',
    ' ann',
    'ann ',
    'ann\t',
    'ann\0',
    'ann\0b',
    '{ann}',
    '#ann',
    "ann'",
    'ann%',
    'ann_',
    'ann\\',
  ],
  ...['\u00e9', 'e\u0301', '\ud83d\ude00', '\ud800', '\udc00', '\ufffd', '1', '01', '1.0', 'null', 'undefined'],
  ...['a'.repeat(256), `${'a'.repeat(255)}b`, 'a'.repeat(257), 'a'.repeat(258), `${'a'.repeat(5_000)}b`],
];

/** Decisions: `consume` and `peek`, over one key and several. */
export function describeConsuming({ describe, it }: Suite, { limiter: setup, open, source }: StoreSetup): void {
  describe('consume', () => {
    it('returns what is left, until when, and the source', async () => {
      const { limiter, clock } = setup(perMinute(5));

      assert.deepEqual(await limiter.consume('key', 2), {
        allowed: true,
        outcome: 'allowed',
        policy: limiter.name,
        cost: 2,
        limit: 5,
        remaining: 3,
        retryAfterMs: 0,
        resetAfterMs: 60_000,
        delayMs: 0,
        source,
        atMs: clock.atMs,
        used: 2,
        policies: [
          {
            name: limiter.name,
            allowed: true,
            limit: 5,
            remaining: 3,
            retryAfterMs: 0,
            resetAfterMs: 60_000,
            delayMs: 0,
            windowMs: 60_000,
            nextAfterMs: 60_000,
            used: 2,
          },
        ],
      });
    });

    it('allows exactly the limit of many at once', async () => {
      const { limiter } = setup(perMinute(100));

      const decisions = await Promise.all(Array.from({ length: 300 }, () => limiter.consume('key')));

      assert.equal(decisions.filter(({ allowed }) => allowed).length, 100);
    });

    it('denies until the reported millisecond, and allows then', async () => {
      const { limiter, clock } = setup(tokenBucket({ capacity: 2, refill: 3, every: '7s' }));
      await limiter.consume('key', 2);
      const { retryAfterMs } = await limiter.consume('key');

      clock.advance((retryAfterMs ?? 0) - 1);
      assert.equal((await limiter.consume('key')).allowed, false);
      clock.advance(1);
      assert.equal((await limiter.consume('key')).allowed, true);
    });

    it('consumes nothing when it denies', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.consume('key', 3);

      await limiter.consume('key', 3);

      assert.equal((await limiter.consume('key', 2)).remaining, 0);
    });

    it('keeps keys apart', async () => {
      const { limiter } = setup(perMinute(5));
      await limiter.consume('one', 5);

      assert.equal((await limiter.consume('other')).remaining, 4);
    });

    it('keeps keys apart, however alike they are', async () => {
      const { limiter } = setup(perMinute(1));
      for (const key of ALIKE) assert.equal((await limiter.consume(key)).allowed, true, JSON.stringify(key));

      for (const key of ALIKE) assert.equal((await limiter.consume(key)).allowed, false, JSON.stringify(key));
    });

    it('keeps a state of thousands of characters', async () => {
      const { limiter, clock } = setup(slidingLog({ limit: 500, window: '1m' }));
      for (let i = 0; i < 300; i++) {
        await limiter.consume('key');
        clock.advance(7);
      }

      assert.equal((await limiter.consume('key', 0)).used, 300);
      clock.advance(60_000 - 150 * 7 - 1);
      assert.equal((await limiter.consume('key', 0)).used, 150);
    });

    it('grants nothing early when the clock steps back', async () => {
      const { limiter, clock } = setup(perMinute(5));
      await limiter.consume('key', 5);

      clock.advance(-30_000);

      matches(await limiter.consume('key'), { allowed: false, retryAfterMs: 90_000 });
      clock.advance(89_999);
      assert.equal((await limiter.consume('key')).allowed, false);
      clock.advance(1);
      assert.equal((await limiter.consume('key')).allowed, true);
    });

    it('consumes from all policies or from none', async () => {
      const { limiter } = setup([
        slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
        tokenBucket({ name: 'narrow', capacity: 2, refill: 1, every: '1m' }),
      ]);
      await limiter.consume('key', 2);

      const { policy, policies } = await limiter.consume('key');

      assert.equal(policy, 'narrow');
      assert.deepEqual(
        policies.map(({ allowed, remaining }) => ({ allowed, remaining })),
        [
          { allowed: true, remaining: 8 },
          { allowed: false, remaining: 0 },
        ],
      );
    });
  });

  describe('several limits', () => {
    it('consume from all keys or from none', async () => {
      const limiter = createLimiter({
        ...open(),
        limits: [
          { name: 'ip', policy: perMinute(10) },
          { name: 'user', policy: perMinute(2) },
        ],
      });
      await limiter.consume({ ip: '::1', user: 'ann' }, 2);

      matches(await limiter.consume({ ip: '::1', user: 'ann' }), { allowed: false, policy: 'user' });

      assert.equal((await limiter.peek({ ip: '::1' })).remaining, 8);
      assert.equal((await limiter.peek({ user: 'bob' })).remaining, 2);
    });

    it('of limiters on one store are apart, also where their names begin alike', async () => {
      const { name, ...common } = open();
      const long = name.padEnd(63, 'x');
      const names = [name, `${name}2`, `${name}.a`, `${long}a`, `${long}b`];
      const limiters = names.map((own) => createLimiter({ ...common, name: own, policy: perMinute(1) }));

      for (const key of ['key', 'k'.repeat(256)]) {
        for (const limiter of limiters) assert.equal((await limiter.consume(key)).allowed, true);
        for (const limiter of limiters) assert.equal((await limiter.consume(key)).allowed, false);
      }
    });
  });

  describe('peek', () => {
    it('returns the result of a consume, and consumes nothing', async () => {
      const { limiter } = setup(perMinute(2));

      matches(await limiter.peek('key', 2), { allowed: true, remaining: 2, resetAfterMs: 0 });
      matches(await limiter.peek('key', 3), { allowed: false, retryAfterMs: null });
      assert.equal((await limiter.consume('key', 2)).remaining, 0);
    });
  });
}

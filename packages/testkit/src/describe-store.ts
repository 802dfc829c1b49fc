import { beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core';
import { fakeClock, type FakeClock } from './fake-clock.ts';
import type { StoreSetup } from './store-contract/setup.ts';
import { describeUnitsOfKeys } from './store-contract/units-of-keys.ts';
import { describeUsedUnits } from './store-contract/used-units.ts';

/** A store under test. Its keys are its own: nothing of one test is seen by another. */
export interface StoreFactory {
  /** A new store that tells the time by this clock. */
  create(clock: FakeClock): Store;
  /** What `source` its decisions name. */
  readonly source: Decision['source'];
  /** Where the clocks start. Default: some fixed day. */
  readonly clockAtMs?: number;
  setUp?(): Promise<void>;
  tearDown?(): Promise<void>;
}

/**
 * The contract of every store: atomic, exact to the millisecond, and without early expiry. It uses the public
 * interface of a limiter, so that it applies to every kind of store.
 */
export function describeStore(name: string, factory: StoreFactory): void {
  describe(`the store ${name}`, () => {
    beforeAll(async () => factory.setUp?.());
    afterAll(async () => factory.tearDown?.());

    let made = 0;
    const setup = (policy: Policy | readonly Policy[]): { limiter: Limiter; clock: FakeClock } => {
      const clock = fakeClock(factory.clockAtMs);
      const limiter = createLimiter({
        name: `contract-${String(made++)}`,
        policy,
        store: factory.create(clock),
        onStoreError: 'throw',
        timeoutMs: 60_000,
      });
      return { limiter, clock };
    };

    const sharing: StoreSetup['sharing'] = (...policies) => {
      const clock = fakeClock(factory.clockAtMs);
      const name = `contract-${String(made++)}`;
      const common = {
        name,
        shared: true,
        store: factory.create(clock),
        onStoreError: 'throw',
        timeoutMs: 60_000,
      } as const;
      return { limiters: policies.map((policy) => createLimiter({ ...common, policy })), clock };
    };
    describeUsedUnits({ limiter: setup, sharing });
    describeUnitsOfKeys({ limiter: setup, sharing });

    const perMinute = (limit: number): Policy => fixedWindow({ limit, window: '1m' });

    describe('consume', () => {
      it('returns what is left, until when, and the source', async () => {
        const { limiter, clock } = setup(perMinute(5));

        expect(await limiter.consume('key', 2)).toEqual({
          allowed: true,
          outcome: 'allowed',
          policy: limiter.name,
          cost: 2,
          limit: 5,
          remaining: 3,
          retryAfterMs: 0,
          resetAfterMs: 60_000,
          delayMs: 0,
          source: factory.source,
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

        expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100);
      });

      it('denies until the reported millisecond, and allows then', async () => {
        const { limiter, clock } = setup(tokenBucket({ capacity: 2, refill: 3, every: '7s' }));
        await limiter.consume('key', 2);
        const { retryAfterMs } = await limiter.consume('key');

        clock.advance((retryAfterMs ?? 0) - 1);
        expect((await limiter.consume('key')).allowed).toBe(false);
        clock.advance(1);
        expect((await limiter.consume('key')).allowed).toBe(true);
      });

      it('consumes nothing when it denies', async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.consume('key', 3);

        await limiter.consume('key', 3);

        expect((await limiter.consume('key', 2)).remaining).toBe(0);
      });

      it('keeps keys apart', async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.consume('one', 5);

        expect((await limiter.consume('other')).remaining).toBe(4);
      });

      it('consumes from all policies or from none', async () => {
        const { limiter } = setup([
          slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
          tokenBucket({ name: 'narrow', capacity: 2, refill: 1, every: '1m' }),
        ]);
        await limiter.consume('key', 2);

        const { policy, policies } = await limiter.consume('key');

        expect(policy).toBe('narrow');
        expect(policies.map(({ allowed, remaining }) => ({ allowed, remaining }))).toEqual([
          { allowed: true, remaining: 8 },
          { allowed: false, remaining: 0 },
        ]);
      });
    });

    describe('several limits', () => {
      it('consume from all keys or from none', async () => {
        const clock = fakeClock(factory.clockAtMs);
        const limits = [
          { name: 'ip', policy: perMinute(10) },
          { name: 'user', policy: perMinute(2) },
        ] as const;
        const store = factory.create(clock);
        const limiter = createLimiter({
          name: `contract-${String(made++)}`,
          limits,
          store,
          onStoreError: 'throw',
          timeoutMs: 60_000,
        });
        await limiter.consume({ ip: '::1', user: 'ann' }, 2);

        expect(await limiter.consume({ ip: '::1', user: 'ann' })).toMatchObject({ allowed: false, policy: 'user' });

        expect((await limiter.peek({ ip: '::1' })).remaining).toBe(8);
        expect((await limiter.peek({ user: 'bob' })).remaining).toBe(2);
      });
    });

    describe('peek', () => {
      it('returns the result of a consume, and consumes nothing', async () => {
        const { limiter } = setup(perMinute(2));

        expect(await limiter.peek('key', 2)).toMatchObject({ allowed: true, remaining: 2, resetAfterMs: 0 });
        expect(await limiter.peek('key', 3)).toMatchObject({ allowed: false, retryAfterMs: null });
        expect((await limiter.consume('key', 2)).remaining).toBe(0);
      });
    });

    describe('refund', () => {
      it('returns units once', async () => {
        const { limiter } = setup(perMinute(5));
        const decision = await limiter.consume('key', 3);

        await limiter.refund(decision, 2);
        await limiter.refund(decision, 1);

        expect((await limiter.peek('key')).remaining).toBe(4);
      });

      it('returns nothing to a later window', async () => {
        const { limiter, clock } = setup(perMinute(5));
        const decision = await limiter.consume('key', 3);
        clock.advance(60_000);
        await limiter.consume('key', 5);

        await limiter.refund(decision);

        expect((await limiter.peek('key')).remaining).toBe(0);
      });
    });

    describe('reserve', () => {
      it('refunds the unused part of the estimate, once', async () => {
        const { limiter } = setup(perMinute(10));
        const { decision, settle, cancel } = await limiter.reserve('key', 8);
        expect(decision).toMatchObject({ allowed: true, cost: 8, remaining: 2 });

        await settle(3);
        await settle(8);
        await cancel();

        expect((await limiter.peek('key')).remaining).toBe(7);
      });

      it('charges the units beyond the estimate, also beyond the limit', async () => {
        const { limiter, clock } = setup(perMinute(10));
        const { settle } = await limiter.reserve('key', 2);
        const other = await limiter.reserve('key', 1);

        await settle(14);

        expect(await limiter.consume('key')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_000 });
        await other.cancel();
        expect((await limiter.peek('key')).remaining).toBe(0);
        clock.advance(60_000);
        expect((await limiter.consume('key')).remaining).toBe(9);
      });

      it('makes a bucket negative, which denies until it is refilled', async () => {
        const { limiter, clock } = setup(tokenBucket({ capacity: 10, refill: 1, every: '1s' }));
        const { settle } = await limiter.reserve('key', 4);
        clock.advance(60_000);

        await settle(4 + 25);

        expect(await limiter.consume('key')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 16_000 });
        clock.advance(15_999);
        expect((await limiter.consume('key')).allowed).toBe(false);
        clock.advance(1);
        expect((await limiter.consume('key')).allowed).toBe(true);
      });

      it('settles every policy of a key', async () => {
        const { limiter } = setup([
          slidingWindow({ name: 'wide', limit: 10, window: '1m' }),
          tokenBucket({ name: 'narrow', capacity: 8, refill: 1, every: '1m' }),
        ]);
        const { settle } = await limiter.reserve('key', 2);

        await settle(7);

        const { policies } = await limiter.peek('key', 0);
        expect(policies.map(({ remaining }) => remaining)).toEqual([3, 1]);
      });

      it('charges nothing to a later window', async () => {
        const { limiter, clock } = setup(perMinute(10));
        const { settle } = await limiter.reserve('key', 2);
        clock.advance(60_000);
        await limiter.consume('key', 1);

        await settle(9);

        expect((await limiter.peek('key')).remaining).toBe(9);
      });
    });

    describe('reset', () => {
      it('makes the key as if never used', async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.consume('key', 5);

        await limiter.reset('key');

        expect(await limiter.peek('key')).toMatchObject({ allowed: true, remaining: 5, resetAfterMs: 0 });
      });
    });

    describe('block', () => {
      it('denies every cost, 0 too, until the millisecond of its end', async () => {
        const { limiter, clock } = setup(perMinute(5));

        await limiter.block('key', '10s');

        const blocked = {
          allowed: false,
          outcome: 'blocked',
          remaining: 0,
          retryAfterMs: 10_000,
          resetAfterMs: 10_000,
        };
        expect(await limiter.consume('key')).toMatchObject(blocked);
        expect(await limiter.consume('key', 0)).toMatchObject(blocked);
        expect(await limiter.peek('key')).toMatchObject(blocked);
        clock.advance(9_999);
        expect((await limiter.consume('key')).allowed).toBe(false);
        clock.advance(1);
        expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 4 });
      });

      it('consumes nothing, and keeps used units', async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.consume('key', 2);

        await limiter.block('key', '10s');
        await limiter.consume('key', 2);
        await limiter.unblock('key');

        expect((await limiter.peek('key')).remaining).toBe(3);
      });

      it('is not ended by a reset but by unblock, and is replaced by a later block', async () => {
        const { limiter } = setup(perMinute(5));
        await limiter.block('key', '1h');

        await limiter.reset('key');
        expect((await limiter.peek('key')).outcome).toBe('blocked');
        await limiter.block('key', '5s');
        expect((await limiter.peek('key')).retryAfterMs).toBe(5_000);
        await limiter.unblock('key');
        expect((await limiter.peek('key')).outcome).toBe('allowed');
      });

      it('of one key does not affect other keys', async () => {
        const { limiter } = setup(perMinute(5));

        await limiter.block('key', '1h');

        expect((await limiter.consume('other')).allowed).toBe(true);
      });
    });

    describe('a policy with new numbers', () => {
      it('keeps the units used under the old ones', async () => {
        const clock = fakeClock(factory.clockAtMs);
        const store = factory.create(clock);
        const common = {
          name: `contract-${String(made++)}`,
          shared: true,
          store,
          onStoreError: 'throw',
          timeoutMs: 60_000,
        } as const;
        await createLimiter({ ...common, policy: perMinute(10) }).consume('key', 4);

        const { remaining } = await createLimiter({ ...common, policy: perMinute(6) }).peek('key');

        expect(remaining).toBe(2);
      });
    });
  });
}

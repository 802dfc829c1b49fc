import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
  type SingleLimiterOptions,
} from '@sluice/old-core';

/** Makes a limiter of a policy, as a user sets it up. */
export type SetUp = (policy: Policy) => Limiter | Promise<Limiter>;

let open: { close(): Promise<void> }[] = [];

/** Closes it when the test has ended. */
export function closing<T extends { close(): Promise<void> }>(made: T): T {
  open.push(made);
  return made;
}

let made = 0;

/** A limiter for a set-up: it has a name of its own, and throws what its store throws. */
export function limiterForSetUp(options: SingleLimiterOptions): Limiter {
  return closing(
    createLimiter({ name: `every-${String(made++)}`, onStoreError: 'throw', timeoutMs: 10_000, ...options }),
  );
}

const long = '365d';
const KINDS: readonly (readonly [string, Policy])[] = [
  ['fixedWindow', fixedWindow({ limit: 10, window: long, align: 'clock' })],
  ['slidingWindow', slidingWindow({ limit: 10, window: long })],
  ['tokenBucket', tokenBucket({ capacity: 10, refill: 1, every: long })],
];

/**
 * What holds of a limiter wherever it counts.
 *
 * @param setUps - By the names of where they count: in a split store and in the local fallback some numbers are others.
 */
export function describeSetUps(setUps: Readonly<Record<string, SetUp>>): void {
  afterEach(async () => {
    await Promise.all(open.map((one) => one.close()));
    open = [];
  });

  const everywhere = Object.entries(setUps).flatMap(([store, setup]) =>
    KINDS.map(([kind, policy]) => ({ store, kind, policy, setup })),
  );

  describe.each(everywhere)('on $store, under $kind, a key', ({ setup, policy, store }) => {
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

  describe.each(Object.entries(setUps))('a limit of 0 on %s', (_store, setup) => {
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

  describe.each(Object.entries(setUps))('denials that count, on %s', (store, setup) => {
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
}

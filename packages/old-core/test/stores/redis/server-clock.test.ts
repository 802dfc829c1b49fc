import { describe, expect, it, jest } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/old-core';
import { expectWarnings, PRODUCTION_LINE, useRedis } from '@sluice/testkit';

expectWarnings('SLUICE_STATE_AHEAD');

const redis = useRedis();
const HOUR_MS = 3_600_000;
const WINDOW_MS = 60_000;

/** The clock of a server, which a test moves. It is ahead of the real one, so that no key expires. */
class ServersClock {
  nowMs = Date.now() + 2 * HOUR_MS;
  /** How many calls have healed keys. */
  heals = 0;

  /** The store of a process. Its scripts read this clock instead of the server's. */
  process(prefix: string): Store {
    const evaluate = (source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> => {
      if (args.includes('heal')) this.heals++;
      const instant = `local time = { "${String(Math.floor(this.nowMs / 1000))}", "${String(this.nowMs % 1000)}000" }`;
      return redis.client.eval(source.replace(PRODUCTION_LINE, instant), keys.length, ...keys, ...args);
    };
    const evalsha = (): Promise<never> => Promise.reject(new Error('NOSCRIPT: this client sends the source'));
    return redisStore({ evalsha, eval: evaluate }, { prefix: `sluice:${prefix}`, check: true });
  }
}

const consumeAll = async (limiter: Limiter): Promise<number> => {
  let units = 0;
  while ((await limiter.consume('key')).allowed) units++;
  return units;
};

const policies: readonly Policy[] = [
  fixedWindow({ limit: 5, window: WINDOW_MS }),
  fixedWindow({ limit: 5, window: WINDOW_MS, align: 'clock' }),
  slidingWindow({ limit: 5, window: WINDOW_MS }),
  slidingCounter({ limit: 5, window: WINDOW_MS }),
  slidingLog({ limit: 5, window: WINDOW_MS }),
  tokenBucket({ capacity: 5, refill: 5, every: WINDOW_MS }),
  tokenBucket({ capacity: 5, refill: 5, every: WINDOW_MS, overdraft: 2 }),
  tokenBucket({ capacity: 5, refill: 5, every: WINDOW_MS, mode: 'interval' }),
  leakyBucket({ limit: 5, window: WINDOW_MS, maxDelay: WINDOW_MS }),
];

describe.each(policies.map((policy, i) => [policy.algorithm, i, policy] as const))(
  'after a clock of Redis was an hour ahead for a moment: %s %i',
  (name, i, policy) => {
    const common = { denialCache: false, timeoutMs: 60_000, onStoreError: 'throw' } as const;
    const limiterOf = (store: Store): Limiter => createLimiter({ name: 'api', policy, store, ...common });
    /** A limiter whose requests are decided by the general script. */
    const withAnother = (store: Store): Limiter => {
      const long = slidingLog({ name: 'long', limit: 1000, window: WINDOW_MS });
      return createLimiter({ name: 'both', policy: [{ ...policy, name: 'first' }, long], store, ...common });
    };

    it('a process that saw it waits for two windows at most, and allows at most twice the limit', async () => {
      const clock = new ServersClock();
      const limiter = limiterOf(clock.process(`saw-${name}-${String(i)}`));
      const before = await consumeAll(limiter);
      clock.nowMs += HOUR_MS;
      const ahead = await consumeAll(limiter);
      clock.nowMs -= HOUR_MS;

      const after = await consumeAll(limiter);
      const denied = await limiter.peek('key');
      clock.nowMs += 2 * WINDOW_MS;
      const again = await limiter.consume('key');

      expect(after).toBe(0);
      expect(before + ahead + after).toBeLessThanOrEqual(2 * before);
      expect(denied.resetAfterMs).toBeLessThanOrEqual(2 * WINDOW_MS + 24_000);
      expect(again.allowed).toBe(true);
    });

    it('a process that met Redis while it was ahead says to wait no longer than two windows, from the first denial on', async () => {
      const clock = new ServersClock();
      const store = clock.process(`met-${name}-${String(i)}`);
      const limiters = [limiterOf(store), withAnother(store)];
      for (const limiter of limiters) await consumeAll(limiter);
      clock.nowMs -= HOUR_MS;

      // The step is known by the reply to the first of them, and each was used up while the clock was ahead.
      for (const limiter of limiters) {
        const { allowed, retryAfterMs, resetAfterMs } = await limiter.consume('key');
        expect(allowed).toBe(false);
        expect(retryAfterMs).toBeLessThanOrEqual(2 * WINDOW_MS);
        expect(resetAfterMs).toBeLessThanOrEqual(2 * WINDOW_MS + 24_000);
      }
    });

    it('a process that did not see it denies until then, and another one that saw it heals the key', async () => {
      const clock = new ServersClock();
      const prefix = `unseen-${name}-${String(i)}`;
      const saw = limiterOf(clock.process(prefix));
      const did = limiterOf(clock.process(prefix));
      await did.consume('other');
      clock.nowMs += HOUR_MS;
      await consumeAll(saw);
      clock.nowMs -= HOUR_MS;

      const denied = await did.consume('key');
      await saw.peek('key'); // shows the step back
      await saw.peek('key');
      const { resetAfterMs } = await did.consume('key');

      expect(denied.allowed).toBe(false);
      expect(denied.resetAfterMs).toBeGreaterThan(HOUR_MS);
      expect(resetAfterMs).toBeLessThanOrEqual(2 * WINDOW_MS + 24_000);
    });
  },
);

describe('while the clock of Redis is behind', () => {
  it('each key is healed once after each step back', async () => {
    const clock = new ServersClock();
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 100, window: WINDOW_MS }),
      store: clock.process('once'),
      denialCache: false,
      timeoutMs: 60_000,
    });
    const steps = [];
    for (const stepMs of [HOUR_MS, -HOUR_MS / 2, -HOUR_MS / 4]) {
      clock.nowMs += stepMs;
      await limiter.consume('first');
      await limiter.consume('first'); // its reply, or the one before, shows the step
      const before = clock.heals;
      for (let i = 0; i < 5; i++) for (const key of ['first', 'second']) await limiter.consume(key);
      steps.push(clock.heals - before);
    }

    expect(steps).toEqual([0, 1, 1]); // the first key was healed by its second call
  });
});

describe('slots that were held while the clock of Redis was ahead', () => {
  const policy = concurrency({ limit: 3, ttl: WINDOW_MS });
  const limiterOf = (store: Store): Limiter =>
    createLimiter({ name: 'slots', policy, store, timeoutMs: 60_000, onStoreError: 'throw' });

  it('are held for a ttl, and by whom they were held', async () => {
    const clock = new ServersClock();
    const limiter = limiterOf(clock.process('slots'));
    const early = await limiter.acquire('key');
    clock.nowMs += HOUR_MS;
    await limiter.acquire('key');
    const held = await limiter.acquire('key');
    clock.nowMs -= HOUR_MS;

    const isHeld = await held.renew();
    clock.nowMs += WINDOW_MS - 1;
    const full = await limiter.acquire('key');
    clock.nowMs += 1;
    const free = await limiter.peek('key');

    expect(early.decision.allowed).toBe(true);
    expect(isHeld).toBe(true);
    expect(full.decision.allowed).toBe(true); // the one from before the step has expired
    expect(free.remaining).toBe(2);
  });

  it('are not released early where their details were lost', async () => {
    const clock = new ServersClock();
    const limiter = limiterOf(clock.process('lost'));
    clock.nowMs += 1;
    await limiter.peek('key');
    clock.nowMs += HOUR_MS;
    for (let i = 0; i < 3; i++) await limiter.acquire('key');
    for (const key of await redis.admin.keys('sluice:lost*:c1')) await redis.admin.del(key);
    clock.nowMs -= HOUR_MS;

    const full = await limiter.acquire('key');
    clock.nowMs += WINDOW_MS;
    const free = await limiter.acquire('key');

    expect(full.decision).toMatchObject({ allowed: false, retryAfterMs: WINDOW_MS });
    expect(free.decision.allowed).toBe(true);
  });
});

describe('a process that did not see the clock of Redis step back', () => {
  it('warns, once for a limiter, when a denial comes from a state that ends too late', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const clock = new ServersClock();
    const policy = fixedWindow({ limit: 1, window: WINDOW_MS });
    const limiterOf = (): Limiter =>
      createLimiter({ name: 'unaware', policy, store: clock.process('unaware'), timeoutMs: 60_000 });
    const ahead = limiterOf();
    clock.nowMs += HOUR_MS;
    await ahead.consume('key');
    await ahead.consume('key'); // denied by a state of its own time
    const before = warned.mock.calls.length;
    clock.nowMs -= HOUR_MS;
    const unaware = limiterOf();

    await unaware.consume('key');
    await unaware.consume('key');
    const texts = warned.mock.calls.slice(before).map(([text]) => String(text));
    warned.mockRestore();

    expect(texts).toEqual([
      expect.stringMatching(/^the limiter unaware denies by a state that ends 3600 s later than its policy unaware/),
    ]);
  });
});

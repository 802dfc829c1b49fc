import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type LimiterOptions,
  type Policy,
  type Store,
} from '@sluice/core';

const policy = fixedWindow({ limit: 100, window: '1m' });
/** Never connected to: nothing is sent before the first decision. */
const store = redisStore('redis://127.0.0.1:1');

const leased = (options: Partial<LimiterOptions>): unknown =>
  createLimiter({
    policy,
    store,
    lease: true,
    name: `n${String(Math.random()).slice(2)}`,
    ...options,
  } as LimiterOptions);

describe('a limiter that leases', () => {
  it.each<[string, Policy]>([
    ['slidingCounter', slidingCounter({ limit: 10, window: '1s' })],
    ['slidingLog', slidingLog({ limit: 10, window: '1s' })],
    ['leakyBucket', leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' })],
    ['concurrency', concurrency({ limit: 10, ttl: '1s' })],
    ['tokenBucket in intervals', tokenBucket({ capacity: 10, refill: 1, every: '1s', mode: 'interval' })],
    ['tokenBucket with overdraft', tokenBucket({ capacity: 10, refill: 1, every: '1s', overdraft: 1 })],
  ])('denies %s, on memory too', (_name, unfit) => {
    expect(() => leased({ policy: unfit })).toThrow(
      expect.objectContaining({ field: 'lease', code: 'SLUICE_POLICY_INVALID' }),
    );
    expect(() => leased({ policy: unfit, store: memoryStore() })).toThrow(/cannot be leased/);
  });

  it('denies one such policy of several', () => {
    const policies = [
      slidingWindow({ name: 'a', limit: 9, window: '1s' }),
      slidingLog({ name: 'b', limit: 9, window: '1s' }),
    ];

    expect(() => leased({ policy: policies })).toThrow(/the policy "b" \(slidingLog\) cannot be leased/);
  });

  it('denies a bucket that refills as much as it holds while a slice lives, and takes one unit more', () => {
    const of = (capacity: number): Policy => tokenBucket({ capacity, refill: 100, every: '1s' });

    expect(() => leased({ policy: of(50) })).toThrow(/its capacity must be at least 51/);
    expect(() => leased({ policy: of(51) })).not.toThrow();
    expect(() => leased({ policy: of(50), lease: { maxAge: '490ms' } })).not.toThrow();
  });

  it('denies escalate, and a store that gives no slices', () => {
    const own: Store = { source: 'remote', perform: () => [] };

    expect(() => leased({ escalate: escalate({ after: 5, block: '1m', decay: '1h' }) })).toThrow(/beside escalate/);
    expect(() => leased({ store: own })).toThrow(/cannot give any/);
  });

  it.each([
    ['no such option', { maxage: '100ms' }, 'SLUICE_OPTION_UNKNOWN'],
    ['too long', { maxAge: 501 }, 'SLUICE_OPTION_INVALID'],
    ['too short', { maxAge: 19 }, 'SLUICE_OPTION_INVALID'],
    ['no duration', { maxAge: 'soon' }, 'SLUICE_OPTION_INVALID'],
    ['a word', 'yes', 'SLUICE_OPTION_INVALID'],
    ['null', null, 'SLUICE_OPTION_INVALID'],
  ])('denies an option that is %s', (_what, lease, code) => {
    expect(() => leased({ lease: lease as never })).toThrow(expect.objectContaining({ code }));
  });

  it('decides on memory as if it did not lease', async () => {
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refill: 10, every: '1s' }), lease: true });

    for (let i = 0; i < 50; i++) await limiter.consume('hot');

    expect(await limiter.consume('hot')).toMatchObject({ source: 'memory', limit: 100 });
  });
});

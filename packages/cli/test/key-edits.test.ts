import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type Policy,
} from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { canonicalAddress } from '@sluice/old-http/spi';
import { useCli } from './sluice.ts';

const cli = useCli();
const limiters: Limiter[] = [];
afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())));
beforeEach(async () => {
  await cli.admin.flushall();
});

/** A limiter of an application: what another process decides. */
function limiterOf(name: string, policy: object, more: object = {}): Limiter {
  const store = redisStore(cli.admin, { prefix: 'sluice' });
  const all = { name, policy, store, onStoreError: 'throw', timeoutMs: 60_000, denialCache: false, app: 'test' };
  const limiter = createLimiter({ ...all, ...more } as unknown as LimiterOptions) as Limiter;
  limiters.push(limiter);
  return limiter;
}

const WHY = ['--reason', 'floods', '--by', 'ann'];
const block = (key: string, limit: string, ...more: readonly string[]) =>
  cli.sluice('block', key, '--limit', limit, '--for', '10m', ...WHY, ...more);
const outcomeOf = async (limiter: Limiter, key: string): Promise<string> => (await limiter.peek(key)).outcome;
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \(in 10m\)/g;

const kinds: readonly (readonly [name: string, policy: Policy | readonly Policy[]])[] = [
  ['fixedWindow', fixedWindow({ limit: 5, window: '1h' })],
  ['slidingWindow', slidingWindow({ limit: 5, window: '1h' })],
  ['slidingCounter', slidingCounter({ limit: 5, window: '1h' })],
  ['slidingLog', slidingLog({ limit: 5, window: '1h' })],
  ['tokenBucket', tokenBucket({ capacity: 5, refill: 1, every: '1h' })],
  ['leakyBucket', leakyBucket({ limit: 5, window: '1h', maxDelay: '4h' })],
  [
    'several policies',
    [fixedWindow({ name: 'burst', limit: 5, window: '1h' }), slidingLog({ name: 'day', limit: 50, window: '1d' })],
  ],
  [
    'policies whose names are too long for the key',
    [
      fixedWindow({ name: 'a'.repeat(30), limit: 5, window: '1h' }),
      slidingLog({ name: 'b'.repeat(30), limit: 50, window: '1d' }),
    ],
  ],
];

describe.each(kinds)('a key under %s', (_kind, policy) => {
  it('is blocked, unblocked and reset without its numbers, for the processes that decide', async () => {
    const limiter = limiterOf('api', policy);
    await limiter.consume('ann', 3);
    await limiter.consume('bob', 3);

    const blocked = await block('ann', 'api');
    const whileBlocked = await limiter.consume('ann');
    const unblocked = await cli.sluice('unblock', 'ann', '--limit', 'api', ...WHY);
    const used = (await limiter.consume('ann')).used;
    const reset = await cli.sluice('reset', 'ann', '--limit', 'api', ...WHY);

    expect(blocked.out.replace(INSTANT, 'T')).toMatch(/^blocked ann under api.* until T, by ann: floods$/);
    expect(whileBlocked.outcome).toBe('blocked');
    expect([unblocked.code, used]).toEqual([0, 4]);
    expect([reset.code, (await limiter.consume('ann', 5)).allowed]).toEqual([0, true]);
    expect((await limiter.peek('bob')).used).toBe(3);
  });
});

describe('sluice block', () => {
  it('blocks a key under a managed policy, in all limiters that use it', async () => {
    const store = redisStore(cli.admin, { prefix: 'sluice' });
    await createPolicies(store).put('orders', slidingLog({ limit: 5, window: '1h' }), { apps: ['test'] });
    const [one, other] = ['one', 'other'].map((name) => limiterOf(name, managed('orders'))) as [Limiter, Limiter];
    await one.consume('ann', 2);

    const before = await block('eve', 'orders');
    const { out } = await block('ann', 'orders');

    expect(before.code).toBe(0);
    expect(out.replace(INSTANT, 'T')).toBe('blocked ann under orders (managed) until T, by ann: floods');
    expect(await Promise.all([one, other].map(async (limiter) => outcomeOf(limiter, 'ann')))).toEqual([
      'blocked',
      'blocked',
    ]);
    expect(await outcomeOf(one, 'eve')).toBe('blocked');
  });

  it('blocks slots, and those who hold them keep them', async () => {
    const limiter = limiterOf('jobs', concurrency({ limit: 2, ttl: '1h' }));
    const { release } = await limiter.acquire('ann');

    const { code } = await block('ann', 'jobs');
    const during = (await limiter.acquire('ann')).decision.outcome;
    await cli.sluice('unblock', 'ann', '--limit', 'jobs');

    expect([code, during]).toEqual([0, 'blocked']);
    expect((await limiter.peek('ann')).used).toBe(1);
    await release();
    expect((await limiter.peek('ann')).used).toBe(0);
  });

  it('blocks a key that has no state, by the keys of others; an address in the form that limiters count', async () => {
    const limiter = limiterOf('api', fixedWindow({ limit: 5, window: '1h' }));
    await limiter.consume('203.0.113.7');
    const address = '2001:db8:1:2:3:4:5:6';

    const v6 = await block(address, 'api');
    const v4 = await block('::ffff:198.51.100.1', 'api');

    expect([v6.code, v4.code]).toEqual([0, 0]);
    expect(v6.out).toContain(canonicalAddress(address, 64));
    expect(await outcomeOf(limiter, canonicalAddress(address, 64) ?? '')).toBe('blocked');
    expect(await outcomeOf(limiter, '198.51.100.1')).toBe('blocked');
  });

  it('blocks keys that are long, have braces, or begin with a hash', async () => {
    const limiter = limiterOf('api', fixedWindow({ limit: 5, window: '1h' }));
    const keys = ['k'.repeat(300), 'a{b}c', '#ann', 'a|b', 'a:b', "it's"];

    for (const key of keys) {
      await limiter.consume(key);
      expect((await block(key, 'api')).code).toBe(0);
      expect(await outcomeOf(limiter, key)).toBe('blocked');
    }
  });

  it('blocks a key of a limit that has no key yet, if its policy is given', async () => {
    const without = await block('ann', 'api');
    const withPolicy = await block('ann', 'api', '--policy', 'tokenBucket --capacity 5 --refill 1 --every 1h');

    expect([without.code, without.err]).toEqual([1, expect.stringContaining("give its policies: --policy '")]);
    expect(withPolicy.code).toBe(0);
    expect(await outcomeOf(limiterOf('api', tokenBucket({ capacity: 5, refill: 1, every: '1h' })), 'ann')).toBe(
      'blocked',
    );
  });

  it('blocks under every kind that a limit has had, because only the application knows the present one', async () => {
    const before = limiterOf('api', fixedWindow({ limit: 5, window: '1h' }));
    await before.consume('ann');
    await before.close();
    const after = limiterOf('api', slidingWindow({ limit: 5, window: '1h' }));
    await after.consume('bob');

    const { out } = await block('ann', 'api');

    expect(out.split('\n')).toHaveLength(1);
    expect(await outcomeOf(after, 'ann')).toBe('blocked');
  });

  it('keeps states that last longer than the block, and a block that lasts longer than the states', async () => {
    const long = limiterOf('long', fixedWindow({ limit: 5, window: '30d' }));
    const short = limiterOf('short', fixedWindow({ limit: 5, window: '1m' }));
    await long.consume('ann');
    await short.consume('ann');

    await block('ann', 'long');
    await block('ann', 'short');

    expect(await cli.admin.pttl('sluice:{ann}:long:2f')).toBeGreaterThan(29 * 86_400_000);
    expect(await cli.admin.pttl('sluice:{ann}:short:2f')).toBeGreaterThan(9 * 60_000);
  });

  it('names one of several limits by its policy', async () => {
    const limits = ['per-ip', 'per-user'].map((name) => ({ name, policy: fixedWindow({ limit: 5, window: '1h' }) }));
    const limiter = limiterOf('api', undefined as never, { policy: undefined, limits }) as unknown as Limiter<object>;
    await limiter.consume({ 'per-ip': '203.0.113.7', 'per-user': 'ann' });

    const unclear = await block('eve', 'api');
    const known = await block('ann', 'api');
    const named = await block('eve', 'per-user');

    expect([unclear.code, unclear.err]).toEqual([
      1,
      expect.stringContaining('several limits have the name api: api (per-ip); api (per-user)'),
    ]);
    expect([known.code, named.code]).toEqual([0, 0]);
    for (const key of ['ann', 'eve']) {
      expect((await limiter.peek({ 'per-ip': '198.51.100.9', 'per-user': key })).outcome).toBe('blocked');
      expect((await limiter.peek({ 'per-ip': key })).outcome).toBe('allowed');
    }
  });

  it('does not block a part of the keys that a limit decides on, and says which those are', async () => {
    const limiter = limiterOf('api', fixedWindow({ limit: 5, window: '1h' }));
    await limiter.consume('203.0.113.7|/login');

    const part = await block('203.0.113.7', 'api');
    const whole = await block('203.0.113.7|/login', 'api');

    expect([part.code, part.err]).toEqual([1, expect.stringContaining("others: '203.0.113.7|/login'; give one")]);
    expect(whole.code).toBe(0);
    expect(await cli.admin.keys('sluice:{*')).toEqual(['sluice:{203.0.113.7|/login}:api:2f']);
  });

  it('takes a whole key, if the limit decides on it: not the record of a refund, nor an external state', async () => {
    const login = limiterOf('login', fixedWindow({ limit: 5, window: '1h' }));
    const log = limiterOf('log', slidingLog({ limit: 5, window: '1h' }));
    await login.refund(await login.consume('ann'));
    await log.consume('ann');
    const before = (await cli.admin.keys('*')).toSorted();
    const refund = before.find((key) => key.includes('~')) ?? '';
    const external = before.find((key) => key.endsWith(':l1')) ?? '';

    const rejected = await Promise.all([
      block(refund, 'login'),
      block(external, 'log'),
      block('sluice:{ann}:log:2l', 'login'),
    ]);

    expect([refund, external]).toEqual([expect.stringMatching(/^sluice:/), 'sluice:{ann}:log:2l:l1']);
    expect(rejected.map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(rejected.map(({ err }) => err)).toEqual([
      expect.stringContaining('is no key that a limit decides on; nothing was changed'),
      expect.stringContaining('is no key that a limit decides on; nothing was changed'),
      expect.stringContaining('is a key of log, and not of login; nothing was changed'),
    ]);
    expect((await cli.admin.keys('*')).toSorted()).toEqual(before);
    expect((await block('sluice:{ann}:log:2l', 'log')).code).toBe(0);
    expect(await outcomeOf(log, 'ann')).toBe('blocked');
  });

  it.each([
    ['no limit', ['block', 'ann', '--for', '1m', '--reason', 'x'], '--limit'],
    ['no time', ['block', 'ann', '--limit', 'api', '--reason', 'x'], '--for'],
    ['no reason', ['block', 'ann', '--limit', 'api', '--for', '1m'], '--reason'],
    ['a time that is none', ['block', 'ann', '--limit', 'api', '--for', 'long', '--reason', 'x'], '--for'],
    ['a time above a year', ['block', 'ann', '--limit', 'api', '--for', '400d', '--reason', 'x'], 'at most 366d'],
    ['a name that is none', ['block', 'ann', '--limit', 'a*', '--for', '1m', '--reason', 'x'], '--limit'],
    ['a policy that is none', ['reset', 'ann', '--limit', 'api', '--policy', 'sieve'], 'sieve'],
    ['no key', ['block', '', '--limit', 'api', '--for', '1m', '--reason', 'x'], 'key'],
  ])('with %s changes nothing', async (_what, args, why) => {
    await limiterOf('api', fixedWindow({ limit: 5, window: '1h' })).consume('ann');
    const before = await cli.admin.get('sluice:{ann}:api:2f');

    const { code, err } = await cli.sluice(...args);

    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
    expect(await cli.admin.get('sluice:{ann}:api:2f')).toBe(before);
  });

  it('prints what it did as JSON', async () => {
    await limiterOf('api', fixedWindow({ limit: 5, window: '1h' })).consume('ann');

    const printed = await cli.json('block', 'ann', '--limit', 'api', '--for', '10m', ...WHY);

    expect(printed).toEqual({
      ...{ edit: 'block', limit: 'api', by: 'ann', reason: 'floods' },
      keys: [{ key: 'sluice:{ann}:api:2f', subject: 'ann', of: 'api', blockedUntilMs: expect.any(Number) }],
    });
  });
});

describe('sluice unblock', () => {
  it('ends a block that denials led to, and forgets them; what was used stays used', async () => {
    const policy = fixedWindow({ limit: 1, window: '1h' });
    const limiter = limiterOf('api', policy, { escalate: escalate({ after: 2, block: ['1h', '2h'], decay: '1d' }) });
    for (let i = 0; i < 3; i++) await limiter.consume('ann');
    const before = await outcomeOf(limiter, 'ann');

    await cli.sluice('unblock', 'ann', '--limit', 'api');

    expect([before, await outcomeOf(limiter, 'ann')]).toEqual(['blocked', 'denied']);
    expect(await cli.admin.get('sluice:{ann}:api:2f')).toMatch(/^\d+$/);
  });

  it('fails for a key that is not blocked, and forgets no denials', async () => {
    const policy = fixedWindow({ limit: 1, window: '1h' });
    const limiter = limiterOf('api', policy, { escalate: escalate({ after: 5, block: '1h', decay: '1d' }) });
    for (let i = 0; i < 3; i++) await limiter.consume('ann');
    const before = await cli.admin.get('sluice:{ann}:api:2f');

    const { code, err } = await cli.sluice('unblock', 'ann', '--limit', 'api');

    expect([code, err]).toEqual([1, 'sluice: ann is not blocked under api; nothing was changed']);
    expect(await cli.admin.get('sluice:{ann}:api:2f')).toBe(before);
  });
});

describe('sluice reset', () => {
  it('forgets what a key has used and its denials, and keeps its block and how many there were', async () => {
    const policy = slidingLog({ limit: 1, window: '1h' });
    const limiter = limiterOf('api', policy, { escalate: escalate({ after: 2, block: ['1h', '2h'], decay: '1d' }) });
    for (let i = 0; i < 3; i++) await limiter.consume('ann');

    const { out } = await cli.sluice('reset', 'ann', '--limit', 'api', '--by', 'ops');

    expect(out).toMatch(/^reset ann under api; it stays blocked until .*, by ops$/);
    expect(await outcomeOf(limiter, 'ann')).toBe('blocked');
    expect((await limiter.peek('ann')).used).toBe(0);
    expect(await cli.admin.get('sluice:{ann}:api:2l')).toMatch(/^!\d+!\^0:1:\d+\^$/);
    expect(await cli.admin.keys('*:l1')).toEqual([]);
  });

  it('fails for a key that has used nothing, and leaves nothing behind', async () => {
    await limiterOf('api', fixedWindow({ limit: 5, window: '1h' })).consume('bob');

    const { code, err } = await cli.sluice('reset', 'ann', '--limit', 'api');

    expect([code, err]).toEqual([1, 'sluice: ann has used nothing under api; nothing was changed']);
    expect(await cli.admin.keys('*')).toEqual(['sluice:{bob}:api:2f']);
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  policyOf,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
} from '@sluice/core';
import { FakeStore } from '../guard/fake-store.ts';

const policy = fixedWindow({ limit: 5, window: '1m' });
const slots = concurrency({ limit: 1, ttl: '1m' });
const named = (name: string) => ({ name, policy });

/** The calls as one without types can make them. */
type Untyped = Readonly<Record<Exclude<keyof Limiter, 'name'>, (...args: unknown[]) => Promise<unknown>>>;
const create = (options: object): Untyped => createLimiter(options as LimiterOptions) as unknown as Untyped;

describe('a bad cost', () => {
  it.each<[cost: unknown, error: typeof TypeError | typeof RangeError, text: RegExp]>([
    [-1, RangeError, /got -1; to give units back, use refund\(decision\); nothing was consumed/],
    [Number.NaN, RangeError, /got NaN/],
    [1.5, RangeError, /whole number from 0 to 2\^53 - 1, got 1\.5/],
    [Infinity, RangeError, /got Infinity/],
    [2 ** 53, RangeError, /got 9007199254740992/],
    ['1', TypeError, /got "1"/],
    [1n, TypeError, /got 1n/],
    [null, TypeError, /got null/],
    [{}, TypeError, /got an object/],
  ])('of %p is denied, and nothing is consumed', async (cost, error, text) => {
    const store = memoryStore();
    const limiter = create({ policy, store });

    for (const attempt of [limiter.consume('key', cost), limiter.peek('key', cost)]) {
      await expect(attempt).rejects.toThrow(error);
      await expect(attempt).rejects.toThrow(text);
      await expect(attempt).rejects.toMatchObject({ code: 'SLUICE_COST_INVALID' });
    }
    expect(store.size).toBe(0);
  });

  it('of undefined is a cost of 1', async () => {
    expect(await create({ policy }).consume('key', undefined)).toMatchObject({ cost: 1, remaining: 4 });
  });
});

describe('a bad key', () => {
  it.each([[''], [undefined], [42], [['a']], [Symbol('a')]])('of %p is rejected by every method', async (key) => {
    const store = memoryStore();
    const limiter = create({ policy, store });

    for (const attempt of [
      ...(['consume', 'peek', 'reset', 'unblock'] as const).map((method) => limiter[method](key)),
      limiter.block(key, '1s'),
      limiter.charge(key, 1),
    ]) {
      await expect(attempt).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
      await expect(attempt).rejects.toThrow(/key must be a non-empty string, got .*; nothing was consumed/);
    }
    expect(store.size).toBe(0);
  });
});

const LIMITERS = {
  one: { policy },
  slots: { policy: slots },
  both: {
    policy: [
      { ...slots, name: 'slots' },
      { ...policy, name: 'calls' },
    ],
  },
  several: { limits: [named('per-ip'), named('per-user')] },
} as const;
const DURATION = /duration must be a duration|must be a whole number of milliseconds/;

describe('a bad call', () => {
  it.each<[of: keyof typeof LIMITERS, method: keyof Untyped, args: unknown[], code: string, text: RegExp]>([
    ['several', 'consume', ['::1'], 'KEY_INVALID', /is an object with a key for per-ip and per-user, got "::1"/],
    ['several', 'consume', [{}], 'KEY_INVALID', /at least one limit needs a key, got none for per-ip and per-user/],
    ['several', 'consume', [{ 'per-usr': 'ann' }], 'KEY_INVALID', /named "per-usr"; did you mean "per-user"\?/],
    ['several', 'consume', [{ other: 'ann' }], 'KEY_INVALID', /no limit named "other"; known: per-ip and per-user/],
    ['several', 'consume', [{ 'per-user': 42 }], 'KEY_INVALID', /the key of per-user must be a non-empty string/],
    ['several', 'refund', ['per-ip'], 'KEY_INVALID', /got "per-ip"/],
    ['several', 'refund', [null], 'KEY_INVALID', /got null/],
    ['several', 'refund', [['::1']], 'KEY_INVALID', /there is no limit named "0"/],
    ['one', 'refund', [''], 'KEY_INVALID', /./],
    ['one', 'refund', [{ allowed: true, policies: [] }], 'DECISION_UNKNOWN', /./],
    ['one', 'refund', [undefined], 'DECISION_UNKNOWN', /./],
    ['one', 'refund', ['key', null], 'COST_INVALID', /got null/],
    ['one', 'charge', ['key', 0.5], 'COST_INVALID', /got 0.5/],
    ['one', 'charge', ['key'], 'COST_INVALID', /got undefined/],
    ['one', 'reserve', ['key', 0], 'COST_INVALID', /an estimate must be a whole number from 1 .*, got 0; .*reserve 1/],
    ['one', 'run', ['key', 'work'], 'OPTION_INVALID', /run takes a key and a function, got "work"/],
    ['one', 'block', ['key', 'a while'], 'OPTION_INVALID', DURATION],
    ['one', 'block', ['key', 0], 'OPTION_INVALID', DURATION],
    ['one', 'block', ['key', undefined], 'OPTION_INVALID', DURATION],
    ['one', 'block', ['key', '1h', { resets: true }], 'OPTION_UNKNOWN', /resets/],
    ['one', 'block', ['key', '1h', { reset: 'yes' }], 'OPTION_INVALID', /reset must be true or false/],
    ['one', 'block', ['key', '1h', 'reset'], 'OPTION_INVALID', /got "reset"/],
    ['one', 'wait', ['key', { cost: -1 }], 'COST_INVALID', /cost/],
    ['one', 'wait', ['key', { signal: 'soon' }], 'OPTION_INVALID', /signal must be an AbortSignal/],
    ['one', 'wait', ['key', { maxWaitMs: '1s' }], 'OPTION_INVALID', /maxWaitMs must be a number of milliseconds/],
    ['one', 'wait', ['key', { maxWaiters: 0 }], 'OPTION_INVALID', /maxWaiters must be a whole number/],
    ['one', 'wait', ['key', { timeout: 1 }], 'OPTION_UNKNOWN', /timeout/],
    ['one', 'acquire', ['key', 1], 'ACQUIRE_NOT_NEEDED', /./],
    ['slots', 'acquire', ['key', 0], 'COST_INVALID', /./],
    ['slots', 'acquire', ['key', { cost: 1 }], 'COST_INVALID', /./],
    ['slots', 'consume', ['key'], 'ACQUIRE_NEEDED', /./],
    ['slots', 'refund', ['key'], 'ACQUIRE_NEEDED', /./],
    ['both', 'refund', ['key', 0], 'ACQUIRE_NEEDED', /./],
    ['both', 'charge', ['key', 1], 'ACQUIRE_NEEDED', /./],
  ])('of a limiter with %s: %s%j is rejected, and nothing happens', async (of, method, args, code, text) => {
    const store = new FakeStore();
    const limiter = create({ ...LIMITERS[of], store });

    const attempt = limiter[method](...args);

    await expect(attempt).rejects.toMatchObject({ code: `SLUICE_${code}` });
    await expect(attempt).rejects.toThrow(text);
    expect(store.calls).toEqual([]);
  });
});

describe('giving back', () => {
  it('is by keys, too, under several limits at once, of those that have a key; and so is charging', async () => {
    const limiter = createLimiter({ limits: [named('ip'), named('user')] });
    const keys = { ip: '::1', user: 'ann' };
    await limiter.consume(keys, 4);

    await limiter.refund(keys, 3);
    await limiter.charge({ user: 'ann' }, 2);

    expect((await limiter.peek(keys, 0)).policies.map(({ used }) => used)).toEqual([1, 3]);
  });

  it('takes the decision itself, of this limiter, and no more than was taken', async () => {
    const store = memoryStore();
    const limiter = createLimiter({ policy, store });
    const foreign = await createLimiter({ name: 'other', policy, store }).consume('key', 2);
    const decision = await limiter.consume('key', 2);

    for (const forged of [{ ...decision }, JSON.parse(JSON.stringify(decision)) as typeof decision, foreign])
      await expect(limiter.refund(forged)).rejects.toMatchObject({
        name: 'TypeError',
        code: 'SLUICE_DECISION_UNKNOWN',
      });
    await expect(limiter.refund(decision, 3)).rejects.toThrow(
      /whole number of units, from 0 to the 2 of the decision, got 3/,
    );
    for (const cost of [-1, Number.NaN, '1', null])
      await expect(limiter.refund(decision, cost as number)).rejects.toMatchObject({ code: 'SLUICE_COST_INVALID' });
    expect((await limiter.peek('key')).remaining).toBe(3);
    await limiter.refund(decision);
    expect((await limiter.peek('key')).remaining).toBe(5);
  });

  it('of a denial, a peek or a cost of 0 does nothing', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key', 2);
    const decisions = [await limiter.consume('key', 4), await limiter.peek('key', 3), await limiter.consume('key', 0)];

    await Promise.all(decisions.map((decision) => limiter.refund(decision)));

    expect((await limiter.peek('key')).remaining).toBe(3);
  });
});

const away = { store: new FakeStore(), localShare: 0.5 };

describe('the options of a limiter', () => {
  it.each<[object, code: string, RegExp]>([
    [{}, 'POLICY_INVALID', /createLimiter needs limit and window, such as .*, or a policy, or limits; got none/],
    [{ policy, limit: 5 }, 'POLICY_INVALID', /createLimiter takes policy, or limit and window, got both/],
    [{ policy, limits: [] }, 'POLICY_INVALID', /createLimiter takes limits, or policy, .* got more than one/],
    [{ limits: [] }, 'POLICY_INVALID', /limits must be a list such as/],
    [{ limits: [named('a'), named('A')] }, 'POLICY_INVALID', /got "a" and "A"/],
    [{ limits: [{ ...named('a'), key: 'x' }] }, 'OPTION_UNKNOWN', /limits\[0\] has no option "key"/],
    [{ policy: [policy, policy] }, 'POLICY_INVALID', /policy\[0\] needs a name/],
    [
      { policy: [{ ...policy, name: 'a' }, tokenBucket] },
      'POLICY_INVALID',
      /policy\[1\] .* function tokenBucket, which/,
    ],
    [{ policy: [{ ...policy, name: 'a' }, policyOf(() => policy)] }, 'POLICY_INVALID', /policy\[1\] must be a policy/],
    [{ policy, store: 'redis://x' }, 'OPTION_INVALID', /redisStore\(url, \{ prefix: 'shop' \}\)/],
    [{ policy, onStoreError: 'open' }, 'OPTION_INVALID', /onStoreError must be "local", "allow", "deny" or "throw"/],
    [{ policy, timeoutMs: 0 }, 'OPTION_INVALID', /timeoutMs/],
    [{ policy, name: '1st' }, 'POLICY_INVALID', /name must be a letter/],
    [{ policy, timeout: 5 }, 'OPTION_UNKNOWN', /did you mean/],
    [{ policy, ...away, localShare: 0 }, 'OPTION_INVALID', /localShare must be a number above 0 and at most 1/],
    [{ policy, ...away, localShare: 1.5 }, 'OPTION_INVALID', /localShare must be a number above 0/],
    [{ policy, ...away, localShare: '0.5' }, 'OPTION_INVALID', /localShare must be a number above 0/],
    [{ policy, ...away, onStoreError: 'deny' }, 'OPTION_INVALID', /localShare must be left out if onStoreError is not/],
    [
      { ...away, localShare: 1e-9, policy: tokenBucket({ capacity: 1, refill: 1, every: '36500d' }) },
      'OPTION_INVALID',
      /localShare must be a share of the policy "default" that can be counted, got 1e-9: every must be a duration/,
    ],
    [{ policy, onThreshold: {} }, 'OPTION_INVALID', /onThreshold.at/],
    [{ policy, onThreshold: { at: [0.5] } }, 'OPTION_INVALID', /onThreshold.call/],
    [{ policy, onThreshold: { at: [], call: () => 1 } }, 'OPTION_INVALID', /onThreshold.at/],
    [{ policy, onThreshold: { at: [0.5, 80], call: () => 1 } }, 'OPTION_INVALID', /onThreshold.at/],
  ])('%j are rejected', (options, code, text) => {
    const make = (): unknown => create(options);

    expect(make).toThrow(expect.objectContaining({ code: `SLUICE_${code}` }));
    expect(make).toThrow(text);
  });
});

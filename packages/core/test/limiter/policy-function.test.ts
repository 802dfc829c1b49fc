import { describe, expect, it, jest } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  policyOf,
  type Limiter,
  type LimiterOptions,
  type Policy,
  type PolicyContext,
  type PolicyFunction,
} from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { FakeStore, useFakeTime } from '../guard/fake-store.ts';

const small = fixedWindow({ limit: 1, window: '1h' });
const large = fixedWindow({ limit: 9, window: '1h' });

const { pass } = useFakeTime();

const limiterWith = (policy: PolicyFunction, more: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({ policy, ...more } as LimiterOptions) as Limiter;

const throwing = (text: string) => (): never => {
  throw new TypeError(text);
};

describe('a policy that a function returns', () => {
  it('is the one of the key at that moment, and what was used stays used', async () => {
    let isLarge = false;
    const limiter = limiterWith((key) => (isLarge && key === 'ann' ? large : small));
    await limiter.consume('ann');
    const denied = await limiter.consume('ann');

    isLarge = true;

    expect(denied).toMatchObject({ allowed: false, limit: 1, policy: 'default' });
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, limit: 9, used: 2 });
  });

  it('may be a list of named ones, or hold slots', async () => {
    const list: readonly Policy[] = [
      fixedWindow({ name: 'burst', limit: 1, window: '1s' }),
      concurrency({ name: 'slots', limit: 2, ttl: '1m' }),
    ];
    const limiter = limiterWith(() => list);

    const { decision, release } = await limiter.acquire('ann');
    await release();

    expect(decision.policies.map(({ name }) => name)).toEqual(['burst', 'slots']);
    expect((await limiter.peek('ann', 0)).policies.map(({ used }) => used)).toEqual([1, 0]);
  });

  it('gets the key, and the same context each time', async () => {
    const seen: [string, PolicyContext][] = [];
    const store = memoryStore();
    const policies = {};
    const limiter = limiterWith((key, context) => (seen.push([key, context]), small), { app: 'shop', policies, store });
    const key = 'k'.repeat(300);

    await limiter.consume(key);
    await limiter.consume(key);

    expect(seen[0]).toEqual([key, { app: 'shop', policies, store }]);
    expect(seen[1]?.[1]).toBe(seen[0]?.[1]);
  });

  it('that is none rejects', async () => {
    const limiter = limiterWith(() => [small, large]);

    await expect(limiter.consume('ann')).rejects.toThrow(/policy\[0\] needs a name/);
  });
});

describe('no policy', () => {
  it('is unconfigured, which denies by default', async () => {
    const limiter = limiterWith(() => undefined, { name: 'api' });

    expect(await limiter.consume('ann', 3)).toMatchObject({
      ...{ allowed: false, outcome: 'unconfigured', policy: 'api', cost: 3, source: 'none', retryAfterMs: null },
      policies: [],
    });
    await expect(limiter.reset('ann')).rejects.toMatchObject({ code: 'SLUICE_POLICY_UNCONFIGURED' });
  });

  it('allows with onUnconfigured: allow, and leaves its limit out of several', async () => {
    const limits = [
      { name: 'plan', policy: () => undefined },
      { name: 'ip', policy: small },
    ] as const;
    const limiter = createLimiter({ limits, onUnconfigured: 'allow' });

    expect(await limiter.consume({ plan: 'ann' })).toMatchObject({ allowed: true, outcome: 'unconfigured' });
    expect(await limiter.consume({ plan: 'ann', ip: '::1' })).toMatchObject({ allowed: true, policy: 'ip' });
    expect(await limiter.consume({ plan: 'ann', ip: '::1' })).toMatchObject({ allowed: false, outcome: 'denied' });
  });
});

describe('a policy that is still loading', () => {
  it('is waited for', async () => {
    const limiter = limiterWith(async () => Promise.resolve(small));

    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, source: 'memory' });
    await limiter.reset('ann');
    expect(await limiter.consume('ann')).toMatchObject({ allowed: true, used: 1 });
  });

  it.each([
    ['local', true],
    ['allow', true],
    ['deny', false],
  ] as const)('is unavailable after timeoutMs: with %s it is allowed: %p', async (onStoreError, allowed) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const limiter = limiterWith(async () => new Promise(() => undefined), { onStoreError, timeoutMs: 80 });

    const deciding = limiter.consume('ann');
    await pass(80);

    expect(await deciding).toMatchObject({
      ...{ allowed, outcome: 'unavailable', source: 'none', error: { code: 'SLUICE_STORE_TIMEOUT' } },
    });
  });

  it('rejects with throw, and at once if it cannot be loaded', async () => {
    const limiter = limiterWith(async () => Promise.reject(new Error('no database')), { onStoreError: 'throw' });

    await expect(limiter.consume('ann')).rejects.toThrow(
      'the policy function failed: no database [SLUICE_STORE_FAILED]',
    );
  });

  it('is no excuse for a function that throws, or rejects after its first load', async () => {
    const broken = new TypeError('plans is undefined');
    let load = async (): Promise<Policy> => Promise.resolve(small);
    const later = limiterWith(async () => load());
    await later.consume('ann');
    load = async () => Promise.reject(broken);
    const always = limiterWith(() => {
      throw broken;
    });

    for (const limiter of [always, later])
      for (const call of ['consume', 'peek', 'wait', 'reset'] as const)
        await expect(limiter[call]('ann')).rejects.toBe(broken);
  });

  it('is not left to reject alone if the function of another limit throws', async () => {
    const limits = [
      { name: 'late', policy: async () => Promise.reject(new Error('no database')) },
      { name: 'broken', policy: throwing('plans is undefined') },
    ];
    const limiter = createLimiter({ limits });

    await expect(limiter.consume({ late: 'ann', broken: 'ann' })).rejects.toThrow('plans is undefined');
    await pass(0); // an unhandled rejection fails the test
  });

  it('leaves the store what is left of the time, for decisions and edits', async () => {
    const store = new FakeStore('hangs');
    const load = async (): Promise<Policy> => new Promise((resolve) => setTimeout(resolve, 60, small));
    const more = { store, shared: true, onStoreError: 'throw' } as const;
    const ended: unknown[] = [];
    const calls = [limiterWith(load, more).reset('ann'), limiterWith(load, { ...more, name: 'two' }).consume('ann')];
    for (const call of calls) call.catch(({ code }: Error & { code: string }) => ended.push(code));

    await pass(101);

    expect(ended).toEqual(Array(2).fill('SLUICE_STORE_TIMEOUT'));
  });
});

describe('a marked function', () => {
  it('has one key for all limiters of a store, named after it', async () => {
    const store = new FakeStore();
    const keys: string[] = [];
    const { perform } = store;
    store.perform = async (op, asks) => (keys.push(...asks.map(({ key }) => key)), perform.call(store, op, asks));
    let generation = '';
    const orders = policyOf(() => small, { name: 'orders', keyName: () => `orders${generation}` });
    const one = limiterWith(orders, { name: 'one', store });
    const other = createLimiter({ name: 'other', limits: [{ name: 'per-user', policy: orders }], store });
    await one.consume('ann');

    const denied = await other.consume({ 'per-user': 'ann' });
    generation = '@1';
    const afresh = await one.consume('ann');

    expect(denied).toMatchObject({ allowed: false, policy: 'per-user' });
    expect(afresh).toMatchObject({ allowed: true, policy: 'orders' });
    expect(keys).toEqual(['{ann}::orders', '{ann}::orders', '{ann}::orders@1']);
  });

  it('counts a request once under one key, whatever limits it is given for', async () => {
    const shared = policyOf(() => large, { name: 'shared' });
    const limiter = createLimiter({
      limits: [
        { name: 'one', policy: shared },
        { name: 'two', policy: shared },
      ],
    });

    expect((await limiter.consume({ one: 'ann', two: 'ann' }, 2)).used).toBe(2);
    expect((await limiter.consume({ one: 'ann', two: 'bob' }, 2)).policies.map(({ used }) => used)).toEqual([4, 2]);
  });

  it('is opened once for all functions with that, such as one for each request, and not after its limiter was closed', async () => {
    const events: string[] = [];
    const open = (): (() => void) => (events.push('open'), () => void events.push('close'));
    const core = new LimiterCore({ name: 'shop' });
    core.claim();
    for (let i = 0; i < 3; i++) core.limitFor(policyOf(() => small, { open }));
    await core.close();

    expect(events).toEqual(['open', 'close']);
    expect(() => core.limitFor(policyOf(() => small, { open: () => open() }))).toThrow(
      expect.objectContaining({ code: 'SLUICE_LIMITER_CLOSED' }),
    );
    expect(events).toHaveLength(2);
  });

  it('may reject a limiter, whose name stays free, and leaves no rejection of another behind', async () => {
    const rejects = policyOf(() => small, { open: () => async () => Promise.reject(new Error('cannot close')) });
    const throws = policyOf(() => small, { open: throwing('app is missing') });
    const limits = [
      { name: 'one', policy: rejects },
      { name: 'two', policy: throws },
    ];
    const store = memoryStore();

    expect(() => createLimiter({ name: 'api', limits, store })).toThrow('app is missing');
    await pass(0); // an unhandled rejection fails the test

    expect(createLimiter({ name: 'api', policy: small, store }).name).toBe('api');
  });

  it('tells metrics its policy at present', () => {
    const policies = new Map<string, Policy>();
    const read = (): Policy | undefined => policies.get('orders');
    const core = new LimiterCore({ name: 'shop' });
    core.limitFor(policyOf(read, { name: 'orders', current: read }));
    const before = core.policies();

    policies.set('orders', large);

    expect([before, core.policies()]).toEqual([[], [{ name: 'orders', limit: 9 }]]);
  });

  it('must be a function', () => {
    expect(() => policyOf(small as never)).toThrow(/policyOf takes a function/);
  });
});

import { describe, expect, it } from '@jest/globals';
import { byHeader, byIp, byUser, type Limited } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore, type Decision, type Limiter } from '@sluice/old-core';
import { createEnforcer, withLimiter } from '@sluice/old-http/spi';
import {
  expectWarnings,
  testEnforcer,
  testFramework,
  type TestOptions,
  type TestRequest,
  TestResponse,
} from '@sluice/testkit';

expectWarnings('SLUICE_KEY_MISSING');

const policy = fixedWindow({ limit: 2, window: '1h' });

describe('a limiter that is handed in', () => {
  it('counts together with other code that uses it', async () => {
    const limiter = createLimiter({ name: 'login', policy });
    const enforce = testEnforcer({ limiter, key: byUser() });
    await limiter.consume('ann');
    await enforce({ user: 'ann' });

    const denied = await enforce({ user: 'ann' });

    expect(denied.denial?.status).toBe(429);
    expect(denied.fields[1]?.value).toMatch(/^"login";r=0;t=\d+$/);
    expect((await limiter.peek('ann')).remaining).toBe(0);
    expect((await enforce({ user: 'bob' })).denial).toBeUndefined();
  });

  it('may be handed in several times: its name is its own', async () => {
    const limiter = createLimiter({ name: 'login', policy });
    const [here, there] = [testEnforcer({ limiter }), testEnforcer({ limiter, cost: 2 })];
    await here();

    expect((await there()).denial?.status).toBe(429);
  });

  it('decides by its several policies', async () => {
    const limiter = createLimiter({
      policy: [
        fixedWindow({ name: 'minute', limit: 5, window: '1m' }),
        fixedWindow({ name: 'day', limit: 1, window: '1d' }),
      ],
    });
    const enforce = testEnforcer({ limiter });
    await enforce();

    expect(JSON.parse((await enforce()).denial?.body ?? '')).toMatchObject({ 'violated-policies': ['day'] });
  });

  it('denies all once it is closed, as an error', async () => {
    const limiter = createLimiter({ policy });
    const enforce = testEnforcer({ limiter });

    await limiter.close();

    await expect(enforce()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });

  it.each<[string, object, string, RegExp]>([
    [
      'something else',
      { limiter: {} },
      'limiter',
      /^limiter must be made by createLimiter\(\), got an object with no fields/,
    ],
    ['null', { limiter: null }, 'limiter', /limiter must be made by createLimiter\(\).*, got null/],
    ['a store', { limiter: memoryStore() }, 'limiter', /limiter must be made by createLimiter\(\)/],
    [
      'a copy of one',
      { limiter: { ...createLimiter({ policy }) } },
      'limiter',
      /limiter must be made by createLimiter\(\)/,
    ],
    [
      'one of several limits',
      {
        limiter: createLimiter({
          limits: [
            { name: 'a', policy },
            { name: 'b', policy },
          ],
        }),
      },
      'limiter',
      /limiter must be one with a single key, got one with the limits a and b;/,
    ],
    ...(
      [
        ['policy', policy],
        ['limit', 5],
        ['window', '1m'],
        ['limits', [{ name: 'a', policy }]],
        ['name', 'other'],
        ['shared', true],
        ['store', memoryStore()],
        ['onStoreError', 'deny'],
        ['timeoutMs', 50],
      ] as const
    ).map(([name, value]): [string, object, string, RegExp] => [
      `one beside ${name}`,
      { limiter: createLimiter({ policy }), [name]: value },
      name,
      new RegExp(
        `^${name} belongs to the limiter that is given, got .* beside it; set it where that limiter is made`,
        's',
      ),
    ]),
  ])('is denied when it is %s', (_what, options, field, message) => {
    expect(() => testEnforcer(options as TestOptions)).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        code: 'SLUICE_OPTION_INVALID',
        field,
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });
});

describe('what stands on a middleware', () => {
  interface Middleware<Key> {
    readonly limited: Limited<TestRequest, Key, TestResponse> & { readonly limiter: Limiter<Key> };
    pass(request?: TestRequest): Promise<number>;
  }
  const middleware = <Key = string>(options: TestOptions): Middleware<Key> => {
    const { enforcer, layer } = createEnforcer<TestRequest, TestResponse>(options, testFramework);
    const handler = async (request: TestRequest = {}): Promise<number> => {
      const response = new TestResponse();
      await enforcer.limit(request, response);
      return response.statusCode;
    };
    return { limited: withLimiter(handler, layer), pass: handler };
  };

  it('resets what the middleware counts', async () => {
    const { limited, pass } = middleware({ policy, key: byUser() });
    await pass({ user: 'ann' });
    await pass({ user: 'ann' });
    const request = { user: 'ann' };
    expect(await pass(request)).toBe(429);

    await limited.limiter.reset(await limited.keyFor(request));

    expect(await pass({ user: 'ann' })).toBe(200);
  });

  it('is the limiter that was handed in', () => {
    const limiter = createLimiter({ policy });

    expect(middleware({ limiter }).limited.limiter).toBe(limiter);
  });

  it('is one and the same limiter every time', () => {
    const { limited } = middleware({ policy });

    expect(limited.limiter).toBe(limited.limiter);
  });

  it('tells the key of a request that was never seen', async () => {
    const { limited } = middleware({ policy, key: [byIp(), byUser()] });

    await expect(limited.keyFor({ address: '::ffff:192.0.2.9', user: 'a|b' })).resolves.toBe('192.0.2.9|a%7Cb');
  });

  it('tells the key that was counted, though it cannot be read any more', async () => {
    let reads = 0;
    const { limited, pass } = middleware({ policy, key: () => `key-${String(reads++)}` });
    const request = {};
    await pass(request);

    await expect(limited.keyFor(request)).resolves.toBe('key-0');
  });

  it('tells the key of a request that was skipped', async () => {
    const { limited, pass } = middleware({ policy, key: byUser(), skip: () => true });
    const request = { user: 'ann' };
    await pass(request);

    await expect(limited.keyFor(request)).resolves.toBe('ann');
  });

  it('tells of several limits the keys by limit, without those that are missing', async () => {
    const { limited, pass } = middleware<Readonly<Record<string, string | undefined>>>({
      limits: [
        { name: 'per-ip', policy, key: byIp() },
        { name: 'per-user', policy, key: byUser() },
        { name: 'per-app', policy, key: byHeader('x-app'), onMissingKey: 'shared' },
      ],
    });
    const request = { address: '192.0.2.7' };
    await pass(request);
    await pass({ address: '192.0.2.7' });

    const keys = await limited.keyFor(request);
    await limited.limiter.reset(keys);

    expect(keys).toEqual({ 'per-ip': '192.0.2.7' });
    expect((await limited.limiter.peek({ 'per-ip': '192.0.2.7' })).remaining).toBe(2);
  });

  it.each<[string, TestOptions]>([
    ['a single limit', { policy, key: byUser() }],
    ['a single limit that shares what has none', { policy, key: byUser(), onMissingKey: 'shared' }],
    ['several limits', { limits: [{ name: 'per-user', policy, key: byUser() }] }],
  ])('has no key to tell for a request without one: %s', async (_what, options) => {
    const { limited, pass } = middleware(options);
    const request = {};
    await pass(request);

    await expect(limited.keyFor(request)).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    await expect(limited.keyFor({})).rejects.toMatchObject({ code: 'SLUICE_KEY_INVALID' });
  });

  it('is no one limiter where a function picks the policy, which is a clear error', async () => {
    const { limited, pass } = middleware({ policy: () => fixedWindow({ name: 'free', limit: 1, window: '1h' }) });

    expect(() => limited.limiter).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        field: 'policy',
        message: expect.stringMatching(
          /^there is no single limiter when a function picks the policy; make one/,
        ) as unknown,
      }),
    );
    expect(await pass()).toBe(200);
    await expect(limited.keyFor({})).resolves.toBe('192.0.2.1');
  });

  it('has a limiter for each request where a function picks the policy, to reset, peek and refund', async () => {
    const plans = ['free', 'paid'].map((name, i) => fixedWindow({ name, limit: i + 1, window: '1h' }));
    const decisions: Decision[] = [];
    const { limited, pass } = middleware({
      policy: ({ user }) => plans[user === 'ann' ? 1 : 0] as (typeof plans)[0],
      key: byUser(),
      onDecision: (decision) => decisions.push(decision),
    });
    const ann = { user: 'ann' };
    const got = [await pass({ ...ann }), await pass({ ...ann }), await pass({ ...ann })];
    const limiter = await limited.limiterFor(ann);
    const key = await limited.keyFor(ann);

    const used = (await limiter.peek(key)).remaining;
    await limiter.refund(decisions[0] as Decision);
    const refunded = (await limiter.peek(key)).remaining;
    await limiter.reset(key);

    expect([got, used, refunded]).toEqual([[200, 200, 429], 0, 1]);
    expect(await limiter.peek(key)).toMatchObject({ policy: 'paid', limit: 2, remaining: 2 });
    expect((await (await limited.limiterFor({ user: 'bob' })).peek('bob')).policy).toBe('free');
  });

  it('has a limiter for each request of several limits, some of which a function picks', async () => {
    const { limited, pass } = middleware<Readonly<Record<string, string | undefined>>>({
      limits: [
        { name: 'ip', policy, key: byIp() },
        { name: 'plan', policy: async () => Promise.resolve(fixedWindow({ limit: 1, window: '1h', name: 'plan' })) },
      ],
    });
    const request = {};
    await pass(request);
    const limiter = await limited.limiterFor(request);
    const keys = await limited.keyFor(request);

    const before = (await limiter.peek(keys)).allowed;
    await limiter.reset(keys);

    expect([before, (await limiter.peek(keys)).allowed]).toEqual([false, true]);
  });

  it('has for each request the one limiter where no function picks the policy', async () => {
    const { limited } = middleware({ policy });

    expect(await limited.limiterFor({})).toBe(limited.limiter);
  });

  it('decides about a request, writes nothing, and counts it once', async () => {
    const { limited, pass } = middleware({ policy: fixedWindow({ limit: 1, window: '1h' }), cors: true });
    const [request, response] = [{}, new TestResponse()];

    const plan = await limited.enforce(request, response);
    const denied = await limited.enforce({}, response);

    expect(plan).toMatchObject({ denial: undefined, info: { key: '192.0.2.1', decision: { allowed: true } } });
    expect(plan.fields.map(({ name }) => name)).toEqual(['RateLimit-Policy', 'RateLimit']);
    expect(denied.denial).toMatchObject({ status: 429, contentType: 'application/problem+json' });
    expect([...response.headers, response.body, response.statusCode]).toEqual([undefined, 200]);
    expect([await pass(request), await pass()]).toEqual([200, 429]);
  });
});

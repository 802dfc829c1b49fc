import { describe, expect, it } from '@jest/globals';
import { byIp } from '@sluice/old-http';
import { fixedWindow, memoryStore, slidingWindow, type Policy } from '@sluice/old-core';
import { Enforcer, Layer, createEnforcer } from '@sluice/old-http/spi';
import { TestResponse, testFramework, type TestOptions, type TestRequest } from '@sluice/testkit';

const policy = fixedWindow({ limit: 1, window: '1h' });
const other = slidingWindow({ limit: 5, window: '1h' });

describe('a decision on memory', () => {
  it.each<[string, Partial<TestOptions>]>([
    ['with nothing else said', {}],
    [
      'whose functions answer at once',
      { skip: () => false, cost: () => 1, key: () => 'a', onDecision: () => undefined },
    ],
    ['whose policy a function picks', { policy: () => fixedWindow({ name: 'picked', limit: 1, window: '1h' }) }],
    ['with lists', { allow: ['10.0.0.0/8'], deny: ['203.0.113.9'] }],
    ['that answers its denials itself', { onDenied: (_request, response) => (response.body = 'no') }],
    ['that gives units back', { refund: 'on-failure' }],
  ])('is there in the same tick: %s', (_what, options) => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy, ...options } as TestOptions,
      testFramework,
    );

    expect(enforcer.limit({}, new TestResponse())).toBe(true);
    expect(enforcer.limit({}, new TestResponse())).toBe(false);
  });

  it('is there in the same tick for several limits and several layers', () => {
    const store = memoryStore();
    const layers = [
      new Layer<TestRequest, TestResponse>({ name: 'outer', policy: other, store }, testFramework),
      new Layer<TestRequest, TestResponse>(
        {
          name: 'inner',
          limits: [
            { name: 'per-ip', policy },
            { name: 'per-all', policy: other, key: () => '*' },
          ],
          store,
        },
        testFramework,
      ),
    ];
    const enforcer = new Enforcer(layers, testFramework);

    expect(enforcer.limit({}, new TestResponse())).toBe(true);
    expect(enforcer.limit({}, new TestResponse())).toBe(false);
  });

  it.each<[string, Partial<TestOptions>]>([
    ['skip', { skip: async () => Promise.resolve(true) }],
    ['key', { key: [byIp(), async () => Promise.resolve('late')] }],
    ['cost', { cost: async () => Promise.resolve(2) }],
    ['policy', { policy: async () => Promise.resolve(fixedWindow({ name: 'picked', limit: 1, window: '1h' })) }],
    ['onDecision', { onDecision: async () => Promise.resolve() }],
  ])('is waited for where %s answers a promise', async (_what, options) => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy: other, ...options } as TestOptions,
      testFramework,
    );

    const passes = enforcer.limit({}, new TestResponse());

    expect(passes).toBeInstanceOf(Promise);
    expect(await passes).toBe(true);
  });

  it.each(['skip', 'key', 'cost', 'policy', 'onDecision'])(
    'fails with what %s throws, at once or later',
    async (name) => {
      const error = new Error(name);
      const enforcerOf = (fails: () => unknown): Enforcer<TestRequest, TestResponse> =>
        createEnforcer<TestRequest, TestResponse>({ policy, [name]: fails }, testFramework).enforcer;
      const atOnce = enforcerOf(() => {
        throw error;
      });
      const later = enforcerOf(async () => Promise.reject(error));

      expect(() => atOnce.limit({}, new TestResponse())).toThrow(error);
      await expect(later.limit({}, new TestResponse())).rejects.toBe(error);
    },
  );
});

describe('a middleware with a callback', () => {
  const callsOf = async (options: Partial<TestOptions>): Promise<unknown[][]> => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy, ...options } as TestOptions,
      testFramework,
    );
    const calls: unknown[][] = [];
    for (let i = 0; i < 2; i++) enforcer.limitThen({}, new TestResponse(), (...given) => calls.push(given));
    await new Promise(setImmediate);
    return calls;
  };

  it.each<[string, Partial<TestOptions>]>([
    ['at once', {}],
    ['later', { skip: async () => Promise.resolve(false) }],
  ])('goes on once for a request that passes, and not for one that is answered: %s', async (_when, options) => {
    expect(await callsOf(options)).toEqual([[]]);
  });

  // What Express would take for something else than an error.
  it.each<[string, () => unknown]>([
    [
      'at once',
      () => {
        throw 'route'; // eslint-disable-line @typescript-eslint/only-throw-error
      },
    ],
    ['later', async () => Promise.reject('route')], // eslint-disable-line @typescript-eslint/prefer-promise-reject-errors
  ])('is handed an error for whatever is thrown: %s', async (_when, skip) => {
    const calls = await callsOf({ skip } as Partial<TestOptions>);

    expect(calls).toEqual([[expect.any(Error)], [expect.any(Error)]]);
  });
});

describe('a request', () => {
  it('is seen once by each layer, though it is frozen, and shows nothing of it', async () => {
    const layer = new Layer<TestRequest, TestResponse>({ policy: other }, testFramework);
    const beside = new Layer<TestRequest, TestResponse>({ policy: other, name: 'beside' }, testFramework);
    const request = Object.freeze({ address: '192.0.2.7' });
    const left = async (asked: typeof layer): Promise<number | undefined> => {
      const { info } = await new Enforcer([asked], testFramework).enforce(request, new TestResponse());
      return info?.decision.remaining;
    };

    expect([await left(layer), await left(beside), await left(layer), await left(beside)]).toEqual([
      ...[4, 4, undefined, undefined],
    ]);
    expect(Reflect.ownKeys(request)).toEqual(['address']);
    expect(await layer.keyFor(request)).toBe('192.0.2.7');
  });
});

describe('header fields', () => {
  it('tell the numbers of a policy as they are at each answer, whatever they were at the last', async () => {
    const policies: Policy[] = [
      fixedWindow({ name: 'plan', limit: 5, window: '1m' }),
      fixedWindow({ name: 'plan', limit: 7, window: '1m' }),
      fixedWindow({ name: 'plan', limit: 7, window: '1h' }),
      fixedWindow({ name: 'gold', limit: 9, window: '1h' }),
      fixedWindow({ name: 'plan', limit: 5, window: '1m' }),
    ];
    let turn = 0;
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy: () => policies[turn++] as Policy },
      testFramework,
    );
    const quotas: (string | undefined)[] = [];
    for (let i = 0; i < policies.length; i++) {
      const response = new TestResponse();
      await enforcer.limit({}, response);
      quotas.push(response.headers.get('ratelimit-policy'));
    }

    expect(quotas).toEqual([
      ...['"plan";q=5;w=60', '"plan";q=7;w=60', '"plan";q=7;w=3600', '"gold";q=9;w=3600', '"plan";q=5;w=60'],
    ]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { byAll } from '@sluice/old-http';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  type Decision,
  type OnStoreError,
  type Store,
} from '@sluice/old-core';
import { Enforcer, Layer, inheritOptions } from '@sluice/old-http/spi';
import {
  expectWarnings,
  testEnforcer,
  testFramework,
  type TestOptions,
  type TestRequest,
  TestResponse,
} from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const away = (): Store => ({
  source: 'redis',
  perform() {
    throw new Error('away');
  },
});
const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
};

describe('a refund while the store is away', () => {
  it.each([1, 0.5])('gives back what this process took, with a local share of %d', async (localShare) => {
    const enforce = testEnforcer({
      policy: fixedWindow({ limit: 10, window: '1h' }),
      key: byAll(),
      store: away(),
      localShare,
      refund: 'on-success',
    });
    const left: unknown[] = [];

    for (let i = 0; i < 20; i++) {
      const response = new TestResponse();
      const { info } = await enforce({}, response);
      left.push(info?.decision.remaining);
      response.finish();
      await settled();
    }

    expect(left).toEqual(Array(20).fill(10 * localShare - 1));
  });
});

describe('layers over one request, while the store is away', () => {
  const statusesOf = async (
    layers: readonly { onStoreError: OnStoreError; limit: number; localShare?: number }[],
    times: number,
  ): Promise<readonly (number | string)[]> => {
    const store = away();
    const enforcer = new Enforcer(
      layers.map(({ limit, ...options }, i) => {
        const policy = fixedWindow({ limit, window: '1h' });
        const given = { name: `layer-${String(i)}`, key: byAll(), policy, store, ...options } as TestOptions;
        return new Layer<TestRequest, TestResponse>(given, testFramework);
      }),
      testFramework,
    );
    const statuses: (number | string)[] = [];
    for (let i = 0; i < times; i++) {
      const response = new TestResponse();
      statuses.push(
        await (async () => enforcer.limit({}, response))().then(
          () => response.statusCode,
          (error: unknown) => String((error as { code?: unknown }).code),
        ),
      );
    }
    return statuses;
  };

  it.each<[OnStoreError, OnStoreError, number | string]>([
    ['deny', 'allow', 503],
    ['allow', 'deny', 503],
    ['throw', 'allow', 'SLUICE_STORE_FAILED'],
    ['allow', 'throw', 'SLUICE_STORE_FAILED'],
    ['local', 'deny', 503],
    ['allow', 'allow', 200],
  ])('%s outside and %s inside: the stricter one is done', async (outside, inside, expected) => {
    const [status] = await statusesOf(
      [
        { onStoreError: outside, limit: 9 },
        { onStoreError: inside, limit: 9 },
      ],
      1,
    );

    expect(status).toBe(expected);
  });

  it('local outside holds, whatever the inner one would let pass', async () => {
    const layers = [
      { onStoreError: 'local', limit: 2 },
      { onStoreError: 'allow', limit: 9 },
    ] as const;

    expect(await statusesOf(layers, 3)).toEqual([200, 200, 429]);
  });

  it('each counts by its own share', async () => {
    const layers = [
      { onStoreError: 'local', limit: 4 },
      { onStoreError: 'local', limit: 100, localShare: 0.01 },
    ] as const;
    const outer = [
      { onStoreError: 'local', limit: 4, localShare: 0.5 },
      { onStoreError: 'local', limit: 100 },
    ] as const;

    expect(await statusesOf(layers, 3)).toEqual([200, 429, 429]);
    expect(await statusesOf(outer, 3)).toEqual([200, 200, 429]);
  });
});

describe('a decision over layers', () => {
  it('is that of the innermost limiter, which gives it back, whichever limiter is stricter', async () => {
    const store = memoryStore();
    const limiter = createLimiter({ name: 'inner', policy: fixedWindow({ limit: 9, window: '1h' }), store });
    const enforcer = new Enforcer<TestRequest, TestResponse>(
      [
        new Layer<TestRequest, TestResponse>(
          { name: 'outer', limit: 9, window: '1h', key: byAll(), store, onStoreError: 'deny' },
          testFramework,
        ),
        new Layer<TestRequest, TestResponse>({ limiter, key: byAll() }, testFramework),
      ],
      testFramework,
    );
    const { info } = await enforcer.enforce({}, new TestResponse());

    await limiter.refund(info?.decision as Decision);

    expect((await limiter.peek('*')).remaining).toBe(9);
  });
});

describe('a local share that a place takes over', () => {
  it.each(['allow', 'deny', 'throw'] as const)('is dropped where the place says %s', (onStoreError) => {
    const policy = fixedWindow({ limit: 9, window: '1h' });

    expect(inheritOptions({ localShare: 0.5 }, { policy, onStoreError })).toEqual({ policy, onStoreError });
    expect(inheritOptions({ localShare: 0.5 }, { policy, onStoreError: 'local' })).toMatchObject({ localShare: 0.5 });
  });
});

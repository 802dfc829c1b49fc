import { describe, expect, it, jest } from '@jest/globals';
import { byHeader } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore, type Decision, type Store } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import {
  expectWarnings,
  testEnforcer,
  testFramework,
  TestResponse,
  type TestOptions,
  type TestRequest,
  nextTurn,
} from '@sluice/testkit';

expectWarnings('SLUICE_KEY_MISSING');

const policy = fixedWindow({ limit: 2, window: '1h' });

describe('the mode report', () => {
  it('decides, counts and tells onDecision, but denies no request and sends no fields', async () => {
    const told: string[] = [];
    const enforce = testEnforcer({
      policy,
      mode: 'report',
      onDecision: ({ outcome, remaining }, { key }) => told.push(`${key as string} ${outcome} ${String(remaining)}`),
    });

    const answers = [await enforce(), await enforce(), await enforce()];

    expect(told).toEqual(['192.0.2.1 allowed 1', '192.0.2.1 allowed 0', '192.0.2.1 denied 0']);
    expect(answers.map(({ fields, denial }) => [fields, denial])).toEqual(new Array(3).fill([[], undefined]));
  });

  it('leaves the key and what would have been decided on the request', async () => {
    const enforce = testEnforcer({ policy, mode: 'report', cost: 3 });

    const { info } = await enforce();

    expect(info?.key).toBe('192.0.2.1');
    expect(info?.decision).toMatchObject({ allowed: false, outcome: 'denied', retryAfterMs: null });
  });

  it.each<[string, Partial<TestOptions>]>([
    ['throw', { throw: true }],
    ['onDenied', { onDenied: (_request, response) => (response.statusCode = 418) }],
    ['headers', { headers: ['draft-7', { legacy: 'delta' }] }],
    ['cors', { cors: true }],
    ['a missing key', { key: byHeader('x-key') }],
    ['a limiter that is handed in', { policy: undefined, limiter: createLimiter({ policy }) } as Partial<TestOptions>],
    ['a function that picks the policy', { policy: () => fixedWindow({ name: 'a', limit: 1, window: '1h' }) }],
  ])('answers no request, whatever the options say of denials: %s', async (_what, options) => {
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { policy, mode: 'report', ...options } as TestOptions,
      testFramework,
    );
    const responses = [new TestResponse(), new TestResponse(), new TestResponse(), new TestResponse()];

    const passes = await Promise.all(responses.map(async (response) => enforcer.limit({}, response)));

    expect(passes).toEqual([true, true, true, true]);
    expect(responses.map(({ headers, statusCode, body }) => [headers.size, statusCode, body])).toEqual(
      new Array(4).fill([0, 200, undefined]),
    );
  });

  it('counts in the same budget as the limit that it rehearses', async () => {
    const store = memoryStore();
    const report = testEnforcer({ policy, store, shared: true, mode: 'report' });
    const enforce = testEnforcer({ policy, store, shared: true });

    await report();
    await report();

    expect((await enforce()).denial?.status).toBe(429);
  });

  it('gives units back by its rule', async () => {
    const { enforcer, layer } = createEnforcer<TestRequest, TestResponse>(
      { policy, mode: 'report', refund: 'on-success' },
      testFramework,
    );
    const response = new TestResponse();
    await enforcer.enforce({}, response);

    response.finish();
    await nextTurn();

    expect((await layer.limiter.peek('192.0.2.1' as never)).remaining).toBe(2);
  });

  it.each<[string, Partial<TestOptions>]>([
    ['key', { key: () => ['a'] as never }],
    ['cost', { cost: () => Number.NaN }],
    ['policy', { policy: () => policy }],
    ['skip', { skip: () => Promise.reject(new Error('broken')) }],
    ['onDecision', { onDecision: () => Promise.reject(new Error('broken')) }],
  ])('lets all pass whose function %s throws', async (_name, options) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const enforce = testEnforcer({ policy, mode: 'report', ...options } as TestOptions);

    const answer = await enforce();
    jest.restoreAllMocks();

    expect([answer.fields, answer.denial]).toEqual([[], undefined]);
  });

  it.each(['deny', 'allow', 'local', 'throw'] as const)(
    'lets all pass while the store is away, with onStoreError %s',
    async (onStoreError) => {
      const store: Store = {
        source: 'redis',
        perform: () => {
          throw new Error('away');
        },
      };
      const told: Decision[] = [];
      const enforce = testEnforcer({
        policy,
        store,
        onStoreError,
        mode: 'report',
        onDecision: (decision) => told.push(decision),
      });

      const answers = [await enforce(), await enforce(), await enforce()];

      expect(answers.map(({ denial }) => denial)).toEqual([undefined, undefined, undefined]);
      expect(told).toHaveLength(3);
    },
  );
});

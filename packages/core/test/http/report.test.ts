import { describe, expect, it, jest } from '@jest/globals';
import { byHeader, createLimiter, fixedWindow, memoryStore, type Decision, type Store } from '@sluice/core';
import { createEnforcer } from '@sluice/core/http';
import {
  plainEnforcer,
  plainFramework,
  PlainResponse,
  type PlainOptions,
  type PlainRequest,
} from './plain-enforcer.ts';
import { nextTurn } from './watched-store.ts';

const policy = fixedWindow({ limit: 2, window: '1h' });

describe('the mode report', () => {
  it('decides, counts and tells onDecision, but refuses nobody and sends no fields', async () => {
    const told: string[] = [];
    const enforce = plainEnforcer({
      policy,
      mode: 'report',
      onDecision: ({ outcome, remaining }, { key }) => told.push(`${key as string} ${outcome} ${String(remaining)}`),
    });

    const answers = [await enforce(), await enforce(), await enforce()];

    expect(told).toEqual(['192.0.2.1 allowed 1', '192.0.2.1 allowed 0', '192.0.2.1 denied 0']);
    expect(answers.map(({ fields, refusal }) => [fields, refusal])).toEqual(new Array(3).fill([[], undefined]));
  });

  it('leaves the key and what would have been decided on the request', async () => {
    const enforce = plainEnforcer({ policy, mode: 'report', cost: 3 });

    const { info } = await enforce();

    expect(info?.key).toBe('192.0.2.1');
    expect(info?.decision).toMatchObject({ allowed: false, outcome: 'denied', retryAfterMs: null });
  });

  it.each<[string, Partial<PlainOptions>]>([
    ['throw', { throw: true }],
    ['onDenied', { onDenied: (_request, response) => (response.statusCode = 418) }],
    ['headers', { headers: ['draft-7', { legacy: 'delta' }] }],
    ['cors', { cors: true }],
    ['a missing key', { key: byHeader('x-key') }],
    ['a limiter that is handed in', { policy: undefined, limiter: createLimiter({ policy }) } as Partial<PlainOptions>],
    ['a function that picks the policy', { policy: () => fixedWindow({ name: 'a', limit: 1, window: '1h' }) }],
  ])('answers nobody, whatever is said of refusals: %s', async (_what, options) => {
    const { enforcer } = createEnforcer<PlainRequest, PlainResponse>(
      { policy, mode: 'report', ...options } as PlainOptions,
      plainFramework,
    );
    const responses = [new PlainResponse(), new PlainResponse(), new PlainResponse(), new PlainResponse()];

    const passes = await Promise.all(responses.map(async (response) => enforcer.limit({}, response)));

    expect(passes).toEqual([true, true, true, true]);
    expect(responses.map(({ headers, statusCode, body }) => [headers.size, statusCode, body])).toEqual(
      new Array(4).fill([0, 200, undefined]),
    );
  });

  it('counts in the same budget as the limit that it rehearses', async () => {
    const store = memoryStore();
    const report = plainEnforcer({ policy, store, shared: true, mode: 'report' });
    const enforce = plainEnforcer({ policy, store, shared: true });

    await report();
    await report();

    expect((await enforce()).refusal?.status).toBe(429);
  });

  it('gives units back by its rule', async () => {
    const { enforcer, layer } = createEnforcer<PlainRequest, PlainResponse>(
      { policy, mode: 'report', refund: { when: 'on-success', holdMs: 60_000 } },
      plainFramework,
    );
    const response = new PlainResponse();
    await enforcer.enforce({}, response);

    response.finish();
    await nextTurn();

    expect((await layer.limiter.peek('192.0.2.1' as never)).remaining).toBe(2);
  });

  it.each<[string, Partial<PlainOptions>]>([
    ['key', { key: () => ['a'] as never }],
    ['cost', { cost: () => Number.NaN }],
    ['policy', { policy: () => policy }],
    ['skip', { skip: () => Promise.reject(new Error('broken')) }],
    ['onDecision', { onDecision: () => Promise.reject(new Error('broken')) }],
  ])('lets all pass whose function %s throws', async (_name, options) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const enforce = plainEnforcer({ policy, mode: 'report', ...options } as PlainOptions);

    const answer = await enforce();
    jest.restoreAllMocks();

    expect([answer.fields, answer.refusal]).toEqual([[], undefined]);
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
      const enforce = plainEnforcer({
        policy,
        store,
        onStoreError,
        mode: 'report',
        onDecision: (decision) => told.push(decision),
      });

      const answers = [await enforce(), await enforce(), await enforce()];

      expect(answers.map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined]);
      expect(told).toHaveLength(3);
    },
  );
});

import { describe, expect, it } from '@jest/globals';
import { byUser } from '@sluice/old-http';
import { fixedWindow } from '@sluice/old-core';
import { createEnforcer, withLimiter } from '@sluice/old-http/spi';
import { TestResponse, testFramework, type TestOptions, type TestRequest } from '@sluice/testkit';

const plan = fixedWindow({ name: 'plan', limit: 9, window: '1h' });

describe('the response as an argument', () => {
  it.each<[string, (note: (response: TestResponse | undefined) => void) => TestOptions, number]>([
    ['key', (note) => ({ policy: plan, key: (_request, response) => (note(response), 'k') }), 1],
    ['a part of key', (note) => ({ policy: plan, key: [byUser((_request, response) => (note(response), 'k'))] }), 1],
    [
      'a late part of key',
      (note) => ({
        policy: plan,
        key: [async () => Promise.resolve('a'), (_request, response) => (note(response), 'k')],
      }),
      1,
    ],
    ['cost', (note) => ({ policy: plan, cost: (_request, response) => (note(response), 2) }), 0],
    ['policy', (note) => ({ policy: (_request, response) => (note(response), plan) }), 0],
    [
      'an entry',
      (note) => ({ limits: [{ name: 'entry', policy: (_request, response) => (note(response), plan), cost: 1 }] }),
      0,
    ],
    ['skip', (note) => ({ policy: plan, skip: (_request, response) => (note(response), false) }), 0],
  ])('is given to %s; without one, keyFor() gives undefined', async (_what, optionsOf, byKeyFor) => {
    const noted: (TestResponse | undefined)[] = [];
    const { enforcer, layer } = createEnforcer<TestRequest, TestResponse>(
      optionsOf((response) => noted.push(response)),
      testFramework,
    );
    const response = new TestResponse();

    await enforcer.limit({}, response);
    const given = noted.splice(0);
    await withLimiter({}, layer).keyFor({});

    expect(given).toHaveLength(1);
    expect(given[0]).toBe(response);
    expect(noted).toEqual(Array.from({ length: byKeyFor }, () => undefined));
  });

  it.each<[string, Partial<TestOptions>]>([
    ['usual limit', {}],
    ['limit that is skipped for some', { skip: () => false }],
  ])('is given to onDecision of a %s', async (_what, options) => {
    let noted: unknown;
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      {
        policy: plan,
        onDecision: (_decision, context) => {
          noted = context;
        },
        ...options,
      } as TestOptions,
      testFramework,
    );
    const [request, response] = [{}, new TestResponse()];

    await enforcer.limit(request, response);

    expect(noted).toEqual({ key: '192.0.2.1', request, response });
    expect((noted as { response: unknown }).response).toBe(response);
  });
});

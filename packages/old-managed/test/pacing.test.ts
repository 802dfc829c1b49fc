import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { leakyBucket, memoryStore } from '@sluice/old-core';
import { createPolicies, managed, type PolicySource } from '@sluice/old-managed';
import { createEnforcer } from '@sluice/old-http/spi';
import { nextTurn, testFramework, TestResponse } from '@sluice/testkit';

// Time stands still unless the test moves it.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
});
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await nextTurn();
};

/** A source of managed policies in memory. */
function source(): PolicySource {
  const records = new Map<string, unknown>();
  const put = async (name: string, record: unknown): Promise<boolean> => {
    records.set(name, record);
    return Promise.resolve(true);
  };
  return { load: async () => Promise.resolve(Object.fromEntries(records)), put, remove: put };
}

it('a request that a managed policy allows with a delay rests for it', async () => {
  const policies = createPolicies(source());
  const policy = leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' });
  await policies.put('orders', policy, { apps: ['shop'] });
  const store = memoryStore({ clock: { now: () => 1_795_262_400_000 + performance.now() } }); // goes with the timers
  const { enforcer, layer } = createEnforcer(
    { policy: managed('orders'), app: 'shop', policies, key: () => 'all', store },
    testFramework,
  );
  const running: number[] = [];
  for (const visit of [1, 2]) {
    void Promise.resolve(enforcer.enforce({}, new TestResponse())).then(({ denial }) => {
      if (denial === undefined) running.push(visit);
    });
  }
  await turns();
  expect(running).toEqual([1]);

  await jest.advanceTimersByTimeAsync(99);
  await turns();
  expect(running).toEqual([1]);
  await jest.advanceTimersByTimeAsync(1);
  await turns();

  expect(running).toEqual([1, 2]);
  await layer.core.close();
  await policies.close();
});

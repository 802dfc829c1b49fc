import { describe, expect, it } from '@jest/globals';
import { byUser } from '@sluice/old-http';
import { fixedWindow, redisStore } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { testEnforcer, type TestRequest } from '@sluice/testkit';
import { countedClient } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { policies, connect, warnings } = useManaged();

/** More names than warnings. */
const NAMES = 2500;

describe('policies that requests name', () => {
  it('cause a thousand warnings, however many names there are, and the last warning states that it is the last', async () => {
    await policies().put('free', fixedWindow({ limit: 2, window: '1h' }), { apps: ['shop'] });
    const enforce = testEnforcer({
      policy: ({ headers }: TestRequest) => managed(headers?.['x-plan'] ?? 'free'),
      key: byUser(),
      app: 'shop',
      store: redisStore(countedClient(connect()), { prefix: 'sluice' }), // which listens to nothing, for this limiter is never closed
      timeoutMs: 10_000,
      onStoreError: 'throw',
    });

    const answers = [];
    for (let i = 0; i < NAMES; i++) {
      answers.push(await enforce({ user: 'mallory', headers: { 'x-plan': `plan-${String(i)}` } }));
    }
    const usual = await enforce({ user: 'ann' });

    expect(new Set(answers.map(({ denial }) => denial?.status))).toEqual(new Set([403]));
    expect(usual.denial).toBeUndefined();
    const told = warnings.filter((warning) => warning.startsWith('SLUICE_POLICY_UNCONFIGURED'));
    expect(told).toHaveLength(1000);
    expect(told.filter((warning) => warning.includes('no more of these'))).toEqual([told.at(-1)]);
  });
});

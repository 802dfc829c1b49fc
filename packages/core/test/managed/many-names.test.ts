import { describe, expect, it } from '@jest/globals';
import { byUser, fixedWindow, managed, redisStore } from '@sluice/core';
import { plainEnforcer, type PlainRequest } from '../http/plain-enforcer.ts';
import { countedClient } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { policies, connect, warnings } = useManaged();

/** More than are told of. */
const NAMES = 2500;

describe('policies that requests name', () => {
  it('are warned of a thousand times, however many names are said, and the last warning says that it is the last', async () => {
    await policies().put('free', fixedWindow({ limit: 2, window: '1h' }), { apps: ['shop'] });
    const enforce = plainEnforcer({
      policy: ({ headers }: PlainRequest) => managed(headers?.['x-plan'] ?? 'free'),
      key: byUser(),
      app: 'shop',
      store: redisStore(countedClient(connect())), // which listens to nothing, for this limiter is never closed
      timeoutMs: 10_000,
      onStoreError: 'throw',
    });

    const answers = [];
    for (let i = 0; i < NAMES; i++) {
      answers.push(await enforce({ user: 'mallory', headers: { 'x-plan': `plan-${String(i)}` } }));
    }
    const usual = await enforce({ user: 'ann' });

    expect(new Set(answers.map(({ refusal }) => refusal?.status))).toEqual(new Set([403]));
    expect(usual.refusal).toBeUndefined();
    const told = warnings.filter((warning) => warning.startsWith('SLUICE_POLICY_UNCONFIGURED'));
    expect(told).toHaveLength(1000);
    expect(told.filter((warning) => warning.includes('No more of these'))).toEqual([told.at(-1)]);
  });
});

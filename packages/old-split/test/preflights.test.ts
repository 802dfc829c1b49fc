import { expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { fixedMembership, splitStore } from '@sluice/old-split';
import { testEnforcer } from '@sluice/testkit';

it('preflights are limited on a split store too, under 600 a minute, where no limit has their key', async () => {
  const enforce = testEnforcer({
    policy: fixedWindow({ limit: 1, window: '1h', align: 'clock' }),
    key: ({ user }) => user,
    store: splitStore({ membership: fixedMembership({ instances: 1, index: 0 }) }),
    onStoreError: 'throw',
  });
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
  const preflight = async (): Promise<number> => (await enforce({ method: 'OPTIONS', headers })).denial?.status ?? 200;

  expect([await preflight(), await preflight()]).toEqual([200, 200]);
});

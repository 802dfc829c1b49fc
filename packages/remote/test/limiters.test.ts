import { beforeAll, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, silenceWarnings } from '@sluice/old-core';
import { remoteStore } from '@sluice/remote';
import { freePort, isFreedAfter } from '@sluice/testkit';

const once = fixedWindow({ limit: 1, window: '1h' });

beforeAll(() => {
  silenceWarnings('SLUICE_STORE_AWAY');
});

it('a limiter behind a service cannot reset all keys, and calls nothing', async () => {
  const limiter = createLimiter({ policy: once, store: remoteStore('sluice://127.0.0.1:1') });

  await expect(limiter.resetAll()).rejects.toMatchObject({
    code: 'SLUICE_RESET_ALL_UNSUPPORTED',
    message: expect.stringContaining('nothing was reset') as unknown,
  });
  await limiter.close();
});

it('what an application stores for a request that looked for a service which is away is free again afterwards', async () => {
  const store = remoteStore(`sluice://127.0.0.1:${String(await freePort())}`);
  const limiter = createLimiter({ policy: once, store, onStoreError: 'allow', timeoutMs: 50 });

  expect(await isFreedAfter(async () => limiter.consume('key'))).toBe(true);
  await limiter.close();
});

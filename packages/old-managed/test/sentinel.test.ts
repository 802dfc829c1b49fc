import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore, silenceWarnings } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { STORE_USER, startSentinel, until, type RedisSentinel } from '@sluice/testkit';

const { name: sentinelUsername, password: sentinelPassword } = STORE_USER;
const LIMIT = 50;

silenceWarnings('SLUICE_STORE_AWAY'); // expected throughout this test

const clients: Redis[] = [];
let sentinel: RedisSentinel;
beforeAll(async () => {
  sentinel = await startSentinel();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  await sentinel.stop();
});

it('after Sentinel has promoted a replica, a managed policy holds, and can be changed', async () => {
  const clientOf = (): Redis => {
    const client = new Redis({
      ...{ sentinels: [...sentinel.sentinels], name: sentinel.name, sentinelUsername, sentinelPassword },
      autoResendUnfulfilledCommands: false,
    });
    client.on('error', () => undefined); // ioredis prints errors without a listener
    clients.push(client);
    return client;
  };
  const policies = createPolicies(clientOf(), { prefix: 'sluice' });
  await policies.put('api', fixedWindow({ limit: LIMIT, window: '1h' }), { apps: ['shop'] });
  const limiter = createLimiter({
    ...{ name: 'api', policy: managed('api'), app: 'shop', policies },
    ...{
      store: redisStore(clientOf(), { prefix: 'sluice', breaker: { probeEveryMs: 50 } }),
      onStoreError: 'deny',
      timeoutMs: 500,
    },
  });
  for (let i = 0; i < LIMIT; i++) await limiter.consume('ann');
  await until(
    'the replica has all of it',
    async () => (await sentinel.adminOf(await sentinel.primary()).wait(1, 100)) === 1,
  );

  await sentinel.killPrimary(async () => {
    expect((await limiter.consume('ann')).allowed).toBe(false);
  });

  await until('it decides again', async () => (await limiter.consume('ann')).outcome === 'denied');
  expect(await limiter.peek('ann')).toMatchObject({ allowed: false, remaining: 0, limit: LIMIT });
  await until('the policies can be changed', async () =>
    policies.put('api', fixedWindow({ limit: LIMIT + 1, window: '1h' }), { apps: ['shop'] }).then(
      () => true,
      () => false,
    ),
  );
  await until('the change is in force', async () => (await limiter.peek('ann')).limit === LIMIT + 1);
  expect([await limiter.consume('ann'), await limiter.consume('ann')].map(({ allowed }) => allowed)).toEqual([
    true,
    false,
  ]);
  await limiter.close();
  await policies.close();
});

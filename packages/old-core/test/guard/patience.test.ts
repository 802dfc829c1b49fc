import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore, type Decision, type Limiter, type Store } from '@sluice/old-core';
import { startTcpProxy, until, useRedis, withoutFastPath, type TcpProxy } from '@sluice/testkit';

const redis = useRedis();
const policy = fixedWindow({ limit: 1e6, window: '1h' });

let proxy: TcpProxy;
let client: Redis;
beforeAll(async () => {
  proxy = await startTcpProxy(redis.server);
  client = new Redis(proxy.through(redis.server.storeUrl));
});
afterAll(() => {
  client.disconnect();
  proxy.close();
});

const sourcesOf = (decisions: readonly Decision[]): ReadonlySet<string> =>
  new Set(decisions.map(({ source }) => source));
const burst = (limiter: Limiter, key: string): Promise<Decision[]> =>
  Promise.all(Array.from({ length: 20 }, () => limiter.consume(key)));

describe('a limiter with a short timeoutMs', () => {
  it.each([
    ['batched', (store: Store) => store],
    ['one call each', withoutFastPath],
  ])('leaves the breaker closed while a patient limiter gets its replies: %s', async (name, storeOf) => {
    const redisOne = redisStore(client, { prefix: 'sluice' });
    await redisOne.ready();
    const store = storeOf(redisOne);
    const hasty = createLimiter({ name: `hasty ${name}`.replaceAll(' ', '-'), policy, store, timeoutMs: 5 });
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 60_000, denialCache: false });
    proxy.delay(30); // each way: no reply comes within 5 ms
    const local: Decision[] = [];
    const decided: Decision[] = [];

    for (let round = 0; round < 5; round++) {
      local.push(...(await burst(hasty, 'hasty')));
      decided.push(await patient.consume('patient'));
    }
    const shared = burst(hasty, 'hasty'); // in one call with a patient one
    decided.push(...(await burst(patient, 'patient')));
    local.push(...(await shared));
    await proxy.heal();

    expect(sourcesOf(local)).toContain('local');
    expect(sourcesOf(decided)).toEqual(new Set(['redis']));
    expect(patient.status().breaker).toBe('closed');
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('does so before the patient limiter has asked for anything', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    await store.ready();
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 60_000 });
    const hasty = createLimiter({ name: 'hasty', policy, store, timeoutMs: 5 });
    proxy.delay(30);

    await burst(hasty, 'hasty');
    await burst(hasty, 'hasty');
    const { source } = await patient.consume('patient');
    await proxy.heal();

    expect(source).toBe('redis');
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('opens the breaker when Redis hangs for longer than the most patient limiter waits', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    await store.ready();
    const hasty = createLimiter({ name: 'hasty', policy, store, timeoutMs: 5 });
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 500 });
    proxy.hang();

    await burst(hasty, 'hasty');
    const opened = await until('the breaker opens', () => patient.status().breaker !== 'closed');
    await proxy.heal();

    expect(opened).toBe(true);
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('opens the breaker at once where no other limiter waits longer', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    await store.ready();
    const closed = createLimiter({ name: 'patient', policy, store, timeoutMs: 60_000 });
    const hasty = createLimiter({ name: 'hasty', policy, store, timeoutMs: 5 });
    await closed.close();
    proxy.hang();

    await burst(hasty, 'hasty');
    const { breaker } = hasty.status();
    await proxy.heal();

    expect(breaker).not.toBe('closed');
    await hasty.close();
  });
});

import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, redisStore, type Decision, type Limiter } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { startRedis, until, type RedisServer } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter, connect } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const apps = ['checkout'];
const policy = managed('orders');
const record = { format: 1, version: 9, policy: ten, apps, carryOver: 'keep', changedAtMs: 1, earlier: [] };

/** A decision that is there before anything from outside can arrive, or a timer fire; else nothing. */
async function atOnce(orders: Limiter): Promise<Decision | undefined> {
  return Promise.race([orders.consume('ann'), eventLoopTurn(undefined)]);
}

/** Longer than any of these tests. */
const timeoutMs = 600_000;

const unavailable = (allowed: boolean): object => ({ allowed, outcome: 'unavailable', source: 'none' });

describe('a source that has failed once, and never answered', () => {
  it.each([
    ['rejects', 'deny', false],
    ['rejects', 'allow', true],
    ['rejects', 'local', true],
    ['hangs', 'deny', false],
    ['hangs', 'allow', true],
    ['hangs', 'local', true],
  ] as const)('and %s: no decision waits for it or calls it (%s)', async (how, onStoreError, allowed) => {
    let loads = 0;
    const load = (): Promise<never> => {
      loads++;
      return how === 'rejects' || loads === 1
        ? Promise.reject(new Error('the registry is away'))
        : new Promise(() => undefined);
    };
    const orders = limiter({ policy, policies: policies({ load }), onStoreError, timeoutMs });
    const first = await orders.consume('ann');
    if (how === 'hangs') await until('it was called again', () => loads === 2);

    const before = loads;
    const decisions = [];
    for (let i = 0; i < 200; i++) decisions.push(orders.consume('ann'));
    const settled = await Promise.race([Promise.all(decisions), eventLoopTurn(undefined)]);

    expect(first).toMatchObject(unavailable(allowed));
    expect(settled).toHaveLength(200);
    for (const decision of settled ?? []) expect(decision).toMatchObject(unavailable(allowed));
    expect(loads).toBe(before);
  });

  it('is loaded once for all concurrent first decisions', async () => {
    let loads = 0;
    const load = async (): Promise<never> => {
      loads++;
      await eventLoopTurn();
      throw new Error('the registry is away');
    };
    const orders = limiter({ policy, policies: policies({ load }), onStoreError: 'deny', timeoutMs });

    await Promise.all(Array.from({ length: 100 }, () => orders.consume('ann')));

    expect(loads).toBe(1);
  });

  it('is loaded again: once it returns, its policies are in force', async () => {
    let isAway = true;
    const load = (): Promise<Record<string, unknown>> =>
      isAway ? Promise.reject(new Error('the registry is away')) : Promise.resolve({ orders: record });
    const orders = limiter({ policy, policies: policies({ load }), onStoreError: 'deny', timeoutMs });
    expect(await orders.consume('ann')).toMatchObject(unavailable(false));

    isAway = false;

    await until('it is known', async () => (await orders.consume('ann')).outcome === 'allowed');
    expect(await orders.consume('ann')).toMatchObject({ source: 'redis', limit: 10, remaining: 8 });
  });

  it('throw: rejects at once', async () => {
    const load = (): Promise<never> => Promise.reject(new Error('the registry is away'));
    const orders = limiter({ policy, policies: policies({ load }), onStoreError: 'throw', timeoutMs });
    await expect(orders.consume('ann')).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });

    await expect(atOnce(orders)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
  });
});

describe('a Redis that hangs when the process starts', () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await server.stop();
  });

  it.each([
    ['a URL', () => server.url],
    ['a client', () => connect(server.url)],
  ])('%s: decisions soon wait for nothing, and its policies are in force when it goes on', async (_what, client) => {
    const admin = policies(connect(server.url));
    await admin.put('orders', ten, { apps });
    server.pause();
    const orders = limiter({
      policy,
      store: redisStore(client(), { prefix: 'sluice' }),
      onStoreError: 'deny',
      timeoutMs: 100,
    });

    await until('decisions do not wait', async () => (await atOnce(orders)) !== undefined);
    const decisions = await Promise.all(Array.from({ length: 50 }, () => atOnce(orders)));
    server.resume();

    for (const decision of decisions) expect(decision).toMatchObject(unavailable(false));
    await until('Redis decides', async () => (await orders.peek('ann')).source === 'redis');
    expect(await orders.consume('bob')).toMatchObject({ outcome: 'allowed', limit: 10, remaining: 9 });
  });
});

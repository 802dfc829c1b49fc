import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  silenceWarnings,
  type Limiter,
  type Store,
} from '@sluice/express';
import { createPolicies, managed, type Policies } from '@sluice/core/managed';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsulStub, until, useRedis } from '@sluice/testkit';
import { consulSource } from '../src/consul-source.ts';

silenceWarnings('SLUICE_POLICY_UNCONFIGURED', 'SLUICE_POLICIES_LOST', 'SLUICE_POLICIES_UNKNOWN');
const apps = ['shop'];
const perHour = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

const redis = useRedis();
let prefixes = 0;
let consul: ConsulStub;
let operator: Policies;
const ends: (() => Promise<void>)[] = [];
beforeEach(async () => {
  consul = await ConsulStub.start();
  operator = createPolicies(consulSource({ address: consul.address }));
});
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  await consul.close();
});

/** A limiter with its own policies, like a separate process. */
function newLimiter(store: Store, app = 'shop', { address }: { readonly address: string } = consul): Limiter {
  const policies = createPolicies(consulSource({ address, timeoutMs: 1000 }));
  const name = `l${String(ends.length)}`;
  const limiter = createLimiter({ name, policy: managed('orders'), app, policies, store, timeoutMs: 60_000 });
  ends.push(() => limiter.close());
  return limiter;
}

describe.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis.client, { prefix: `sluice:consul${String(prefixes++)}` })],
])('a limit that is kept in Consul, counted in %s', (_where, newStore) => {
  it('applies from the first request on', async () => {
    await operator.put('orders', perHour(2), { apps });
    const limiter = newLimiter(newStore());

    const decisions = [await limiter.consume('ann'), await limiter.consume('ann'), await limiter.consume('ann')];

    expect(decisions.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied']);
  });

  it('changes while it is used, and keeps used units', async () => {
    await operator.put('orders', perHour(10), { apps });
    const limiter = newLimiter(newStore());
    await limiter.consume('ann', 4);
    await operator.put('orders', perHour(20), { apps });

    const { remaining } = await until('it is 20', async () => {
      const decision = await limiter.peek('ann');
      return decision.limit === 20 && decision;
    });

    expect(remaining).toBe(16);
  });

  it('changes even when no blocking query returns, because it is also polled', async () => {
    consul.befall('blocking queries', { status: 500, body: 'rpc error' });
    await operator.put('orders', perHour(10), { apps });
    const limiter = newLimiter(newStore());
    await limiter.consume('ann', 4);
    await operator.put('orders', perHour(20), { apps });

    await until('it is 20', async () => (await limiter.peek('ann')).limit === 20);
  });

  it('does not exist for other applications, nor after it is removed', async () => {
    await operator.put('orders', perHour(10), { apps });
    const store = newStore();
    const [shop, other] = [newLimiter(store), newLimiter(store, 'shop-of-others')];
    const before = [(await shop.consume('ann')).outcome, (await other.consume('ann')).outcome];
    await operator.remove('orders');

    await until('it is gone', async () => (await shop.consume('ann')).outcome === 'unconfigured');
    expect(before).toEqual(['allowed', 'unconfigured']);
  });

  it.each(['fails', 'lost everything'])('stays unchanged when Consul %s', async (what) => {
    await operator.put('orders', perHour(10), { apps });
    const limiter = newLimiter(newStore());
    await limiter.consume('ann', 4);
    if (what === 'fails') for (const which of ['reads', 'blocking queries'] as const) consul.befall(which, 'is cut');
    else consul.restore({});
    const asked = consul.asked.length;
    await until('it has been asked since', () => consul.asked.length > asked + 2);

    expect(await limiter.consume('ann')).toMatchObject({ outcome: 'allowed', limit: 10, remaining: 5 });
  });

  it('follows onStoreError until Consul has answered once', async () => {
    await operator.put('orders', perHour(10), { apps });
    consul.befall('reads', { status: 500, body: 'No cluster leader' });
    const limiter = newLimiter(newStore());
    const before = await limiter.consume('ann');
    consul.befall('reads', undefined);

    await until('it is there', async () => (await limiter.consume('ann')).outcome === 'allowed');
    expect(before).toMatchObject({ outcome: 'unavailable', allowed: true });
  });
});

describe('a limiter that is closed', () => {
  it('sends Consul no further requests, and keeps no connection', async () => {
    await operator.put('orders', perHour(10), { apps });
    const limiter = newLimiter(memoryStore());
    await limiter.consume('ann');
    const others = await ConsulStub.start();
    ends.push(() => others.close());
    await newLimiter(memoryStore(), 'shop', others).consume('ann');
    await until('a question is held back', () => consul.held === 1);
    await limiter.close();

    await until('none is', () => consul.held === 0);
    const asked = consul.asked.length;
    // Long enough for several requests of an open one.
    const askedOthers = others.asked.length;
    await until('another one asks', () => others.asked.length >= askedOthers + 5);
    expect(consul.asked.length).toBe(asked);
  });
});

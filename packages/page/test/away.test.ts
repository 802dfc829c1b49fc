import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  readEvents,
  redisStore,
  silenceWarnings,
  type Limiter,
  type Store,
} from '@sluice/core';
import { startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';
import type { KeyState } from '../src/key-actions.ts';
import { ask, closing, lookUp, pageWith, readSnapshot } from './serve-page.ts';

silenceWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();
const why = { reason: 'floods', by: 'ops' };
afterEach(() => redis.admin.flushall());

interface Shop {
  readonly proxy: TcpProxy;
  readonly store: Store;
  readonly limiter: Limiter;
  readonly made: ReturnType<typeof pageWith>;
  readonly id: string | undefined;
}

/** A limiter whose requests wait for 100 ms, and its page. */
async function openShop(): Promise<Shop> {
  const proxy = closing(await startTcpProxy({ host: '127.0.0.1', port: redis.server.port }));
  const store = redisStore(proxy.through(redis.server.storeUrl), { prefix: 'sluice' });
  const policy = fixedWindow({ limit: 600, window: '1h' });
  const limiter = closing(createLimiter({ name: 'api', policy, store, denialCache: false }));
  const made = pageWith({ limiters: [limiter] });
  await limiter.consume('ann', 502);
  const [state] = await lookUp(made, 'ann');
  return { proxy, store, limiter, made, id: state?.id };
}

describe('while Redis answers late', () => {
  it('a change waits longer than requests do, and is believed when it is seen', async () => {
    const { proxy, limiter, made, id } = await openShop();
    proxy.hang();
    const asked = ask(made, 'block', { id, duration: '10m', ...why });
    await new Promise((resolve) => setTimeout(resolve, 400));
    await proxy.heal();

    const { status, json } = await asked;

    expect([status, (json as KeyState).outcome, (json as KeyState).source]).toEqual([200, 'blocked', 'redis']);
    expect((await limiter.peek('ann')).outcome).toBe('blocked');
  });
});

describe('while Redis is away', () => {
  it('a key has the state that this process counts, a block holds there, and the first line says since when', async () => {
    const { proxy, store, limiter, made, id } = await openShop();
    proxy.deny();
    proxy.cut();
    await until('the breaker is open', async () => {
      await limiter.consume('bob');
      return limiter.status().breaker !== 'closed';
    });

    const { status, json } = await ask(made, 'block', { id, duration: '10m', ...why });
    const { text } = await ask(made, 'live');
    const words = await ask(made, 'key', { key: 'ann' }, { fields: { accept: 'text/html' } });

    expect([status, (json as KeyState).outcome, (json as KeyState).source]).toEqual([200, 'blocked', 'local']);
    expect((await limiter.peek('ann')).outcome).toBe('blocked');
    expect(text).toMatch(/No answer from the store \(redis\) of\s+api since <time/);
    expect(words.text).toMatch(/Blocked until .* in this process, which counts by itself while its store does not/);
    expect((await readSnapshot(made)).troubles).toMatchObject([{ what: 'outage', endAtMs: null }]);
    await proxy.heal();
    await until('both are told', async () =>
      (await readEvents({ store })).every(({ endAtMs, what }) => what === 'block' || endAtMs !== null),
    );
    expect((await readEvents({ store })).map(({ what, by }) => [what, by])).toEqual([
      ['block', 'ops'],
      ['outage', null],
    ]);
  });
});

it('under a block nothing is left, whatever was used, and a key from the table has all its limits', async () => {
  const { limiter, store, made, id } = await openShop();
  const other = closing(createLimiter({ name: 'login', policy: fixedWindow({ limit: 1, window: '1h' }), store }));
  const both = pageWith({ limiters: [limiter, other] });
  await other.consume('ann');
  await other.consume('ann');
  await limiter.block('ann', '2h');

  const { text } = await ask(made, 'key', { id }, { fields: { accept: 'text/html' } });
  const states = (await ask(both, 'key', { id })).json as readonly KeyState[];

  expect(text).toMatch(/api: 502 of 600 in 1h<\/p>/);
  expect(states.map((state) => [state.limiter, state.outcome])).toEqual([
    ['api', 'blocked'],
    ['login', 'denied'],
  ]);
  expect(states[1]?.denials).toMatchObject([{ count: 1, used: 1, limit: 1, isBlocked: false }]);
});

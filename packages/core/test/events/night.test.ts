import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { readEvents } from '../../src/events/read-events.ts';
import { createLimiter } from '../../src/limiter/create-limiter.ts';
import { createPolicies, managed } from '../../src/managed/index.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { silenceWarnings } from '../../src/warnings.ts';
import { VirtualRedis } from './virtual-redis.ts';

silenceWarnings('SLUICE_STORE_AWAY', 'SLUICE_POLICIES_LOST', 'SLUICE_POLICIES_AWAY');
const redis = useRedis();
const MINUTE_MS = 60_000;

beforeAll(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
});
afterAll(() => {
  jest.useRealTimers();
});

/** One process: a limiter with its own numbers and one with those of a managed policy, in the Redis of all. */
function startProcess(virtual: VirtualRedis) {
  const store = redisStore(virtual.client(), { prefix: 'shop' });
  const policies = createPolicies(store);
  const login = createLimiter({ name: 'login', policy: fixedWindow({ limit: 5, window: '1h' }), store });
  const orders = createLimiter({ name: 'orders', policy: managed('orders'), store, onUnconfigured: 'allow' });
  const decide = async (): Promise<void> => {
    const users = Array.from({ length: 3 }, (_, i) => login.consume(`user-${String(i)}`));
    await Promise.all([...users, ...Array.from({ length: 3 }, () => orders.consume('acme'))]);
  };
  const close = async (): Promise<void> => {
    await Promise.all([login.close(), orders.close()]);
    await policies.close();
  };
  return { store, policies, login, decide, close };
}

it('a night of outages, empty restarts and changes is told in order, each once, by a process that starts afterwards', async () => {
  const virtual = new VirtualRedis(redis.admin);
  await virtual.setClock(Date.now());
  const processes = Array.from({ length: 3 }, () => startProcess(virtual));
  const [{ policies, login }, other] = processes as [(typeof processes)[0], (typeof processes)[0]];
  const by = { by: 'ann', reason: 'ticket 812' };
  const numbers = (limit: number) => fixedWindow({ limit, window: '1h' });
  const restart = async (): Promise<void> => {
    await redis.admin.flushall();
    await virtual.setClock(Date.now());
  };
  const fail = (isDown: boolean) => (): void => {
    virtual.isDown = isDown;
  };
  const happens = new Map<number, () => unknown>([
    [5, () => policies.put('orders', numbers(100), by)],
    [20, fail(true)],
    [35, fail(false)],
    [50, () => login.block('mallory', '1h', by)],
    [70, restart],
    [90, () => policies.override('orders', 'acme', numbers(500), { ...by, until: Date.now() + 86_400_000 })],
    [130, fail(true)],
    [131, fail(false)],
    [150, () => other.policies.put('orders', numbers(200), by)],
    [160, () => other.login.reset('user-1', by)],
    [200, () => login.unblock('mallory', by)],
    [240, fail(true)],
    [300, fail(false)],
    [320, restart],
    [350, () => policies.removeOverride('orders', 'acme', by)],
    [380, () => policies.put('mails', numbers(10), by)],
    [400, fail(true)],
    [410, fail(false)],
    [430, () => other.policies.remove('mails', by)],
    [450, () => login.block('eve', '10m', by)],
  ]);
  const startMs = Date.now();
  for (let minute = 0; minute < 480; minute++) {
    await happens.get(minute)?.();
    jest.setSystemTime(Date.now() + MINUTE_MS - 600);
    if (!virtual.isDown) await virtual.setClock(Date.now());
    await Promise.all(processes.map(({ decide }) => decide()));
    // A probe that is sent has its 100 ms.
    for (let i = 0; i < 10; i++) {
      jest.advanceTimersByTime(60);
      await virtual.settle();
    }
  }
  await virtual.setClock(Date.now());
  const late = startProcess(virtual);
  const events = await readEvents({ store: late.store });
  for (const { close } of [...processes, late]) await close();

  const minuteOf = (ms: number | null): number | null => ms && Math.round((ms - startMs) / MINUTE_MS);
  const told = events.toReversed().map(({ atMs, endAtMs, what, limit, key }) => {
    return [minuteOf(atMs), minuteOf(endAtMs), what, limit, key];
  });
  const span = (from: number, to: number, what: string, limit: string) => [from, to, what, limit, null];
  const change = (at: number, what: string, limit: string, key: string | null = null) => [at, null, what, limit, key];
  const near = (minutes: number) => expect.closeTo(minutes, -0.7); // two steps: failures in a row, and a probe
  expect(told).toEqual(
    [
      change(5, 'put', 'orders'),
      span(20, 35, 'outage', 'login, orders'),
      change(50, 'block', 'login', 'mallory'),
      span(70, 70, 'lost', 'orders'),
      change(90, 'override', 'orders', 'acme'),
      span(130, 131, 'outage', 'login, orders'),
      change(150, 'put', 'orders'),
      change(160, 'reset', 'login', 'user-1'),
      change(200, 'unblock', 'login', 'mallory'),
      span(240, 300, 'outage', 'login, orders'),
      span(320, 320, 'lost', 'orders'),
      change(350, 'removeOverride', 'orders', 'acme'),
      change(380, 'put', 'mails'),
      span(400, 410, 'outage', 'login, orders'),
      change(430, 'remove', 'mails'),
      change(450, 'block', 'login', 'eve'),
    ].map(([from, to, ...rest]) => [near(Number(from)), to === null ? null : near(Number(to)), ...rest]),
  );
}, 60_000);

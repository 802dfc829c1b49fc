import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { channel, hasSubscribers } from 'node:diagnostics_channel';
import { Counter, Registry, register as defaultRegister } from 'prom-client';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type Store,
  type StoreRequest,
} from '@sluice/old-core';
import { collectMetrics } from '@sluice/old-core/metrics';
import { changingPolicy, connectTo, expectWarnings, type RedisServer, startRedis, until } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ name: 'hourly', limit: 2, window: '1h' });

let register: Registry;
let stop: () => void;
const limiters: { close(): Promise<void> }[] = [];
beforeEach(() => {
  register = new Registry();
  stop = collectMetrics({ register });
});
afterEach(async () => {
  jest.useRealTimers();
  stop();
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter => {
  const limiter = createLimiter({ name: 'observed', policy, ...options } as LimiterOptions) as Limiter;
  limiters.push(limiter);
  return limiter;
};

/** A store that fails on request. */
class Fickle implements Store {
  readonly source = 'redis';
  readonly breaker = { failures: 2, probeEveryMs: 100 };
  readonly memory = memoryStore();
  isAway = true;
  async perform(requests: readonly StoreRequest[]) {
    await Promise.resolve();
    if (this.isAway) throw new Error('away');
    return this.memory.perform(requests);
  }
}

/**
 * The samples of a metric, as a page of metrics shows them, without its name. Of limiters of this file: those that
 * ran in this process before may have left breakers open, whose probes go on.
 */
const samples = async (name: string, of = register): Promise<string[]> => {
  const lines = (await of.getSingleMetricAsString(name)).split('\n');
  const ours = lines.filter((line) => line.startsWith(name) && line.includes('limiter="observed'));
  return ours.map((line) => line.slice(name.length));
};

describe('sluice_decisions_total', () => {
  it('counts decisions by limiter, policy, outcome, and source', async () => {
    const limiter = limiterOf();
    for (let i = 0; i < 5; i++) await limiter.consume('key');
    await limiter.block('key', '1m');
    await limiter.consume('key');

    expect(await samples('sluice_decisions_total')).toEqual([
      '{limiter="observed",policy="hourly",outcome="allowed",source="memory"} 2',
      '{limiter="observed",policy="hourly",outcome="denied",source="memory"} 3',
      '{limiter="observed",policy="hourly",outcome="blocked",source="memory"} 1',
    ]);
  });

  it('counts no peeks: they consume nothing, and deny no request', async () => {
    const limiter = limiterOf();

    await limiter.peek('key');

    expect(await samples('sluice_decisions_total')).toEqual([]);
    expect(await samples('sluice_decision_duration_seconds')).toEqual([]);
  });

  it('shows the fallback of a store that failed', async () => {
    await limiterOf({ store: new Fickle() }).consume('key');
    await limiterOf({ store: new Fickle(), name: 'observed-closed', onStoreError: 'deny' }).consume('key');

    expect(await samples('sluice_decisions_total')).toEqual([
      '{limiter="observed",policy="hourly",outcome="allowed",source="local"} 1',
      '{limiter="observed-closed",policy="hourly",outcome="unavailable",source="none"} 1',
    ]);
  });
});

describe('sluice_near_limit_total', () => {
  it('counts decisions that left at most a fifth of the limit, and no denials', async () => {
    const limiter = limiterOf({ policy: fixedWindow({ name: 'hourly', limit: 10, window: '1h' }) });
    for (let i = 0; i < 12; i++) await limiter.consume('key');
    await limiter.peek('key');

    expect(await samples('sluice_near_limit_total')).toEqual(['{limiter="observed",policy="hourly"} 3']);
  });
});

describe('sluice_limit', () => {
  it('is the limit of each policy, before the first request', async () => {
    const limiter = limiterOf({
      policy: [policy, tokenBucket({ name: 'burst', capacity: 20, refill: 5, every: '1s' })],
    });

    expect(await samples('sluice_limit')).toEqual([
      '{limiter="observed",policy="hourly"} 2',
      '{limiter="observed",policy="burst"} 20',
    ]);

    await limiter.close();
    expect(await samples('sluice_limit')).toEqual([]);
  });

  it('is what a policy that changes is at present, as this process knows it', async () => {
    const changing = changingPolicy('plan', fixedWindow({ limit: 10, window: '1h' }));
    limiterOf({ policy: changing.reference() });
    const before = await samples('sluice_limit');

    changing.change(fixedWindow({ limit: 30, window: '1h' }), 'keep');
    limiterOf({ name: 'observed-later', policy: changing.reference() });

    expect([before, await samples('sluice_limit')]).toEqual([
      ['{limiter="observed",policy="plan"} 10'],
      ['{limiter="observed",policy="plan"} 10', '{limiter="observed-later",policy="plan"} 30'],
    ]);
  });
});

describe('sluice_decision_duration_seconds', () => {
  it('has every decision in a bucket, the smallest of 50 µs', async () => {
    const limiter = limiterOf();
    await limiter.consume('key');
    await limiter.consume('key');

    const shown = await samples('sluice_decision_duration_seconds');

    expect(shown[0]).toMatch(/^_bucket\{le="0\.00005",limiter="observed",source="memory"\} \d$/);
    expect(shown).toContain('_bucket{le="+Inf",limiter="observed",source="memory"} 2');
    expect(shown).toContain('_count{limiter="observed",source="memory"} 2');
  });

  it('is in seconds', async () => {
    const startMs = performance.now();
    await limiterOf().consume('key');
    const tookMs = performance.now() - startMs;

    const sum = (await samples('sluice_decision_duration_seconds')).find((line) => line.startsWith('_sum'));

    const seconds = Number(sum?.split(' ')[1]);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(tookMs / 1000);
  });
});

describe('a store that fails and comes back', () => {
  it('is counted by kind, and its breaker and fallback are shown', async () => {
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'] });
    const store = new Fickle();
    const limiter = limiterOf({ store });
    const breaker = (state: string) => [
      `{limiter="observed",state="open"} ${state === 'open' ? '1' : '0'}`,
      `{limiter="observed",state="half-open"} ${state === 'half-open' ? '1' : '0'}`,
      `{limiter="observed",state="closed"} ${state === 'closed' ? '1' : '0'}`,
    ];
    expect(await samples('sluice_breaker_state')).toEqual(breaker('closed'));
    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 0']);

    for (let i = 0; i < 4; i++) await limiter.consume(`key ${String(i)}`);
    expect(await samples('sluice_breaker_state')).toEqual(breaker('open'));
    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 1']);
    expect(await samples('sluice_keys_in_memory')).toEqual(['{limiter="observed"} 4']);
    expect(await samples('sluice_store_errors_total')).toEqual(['{limiter="observed",store="redis",kind="other"} 2']);

    store.isAway = false;
    await jest.advanceTimersByTimeAsync(100);
    expect(await samples('sluice_breaker_state')).toEqual(breaker('closed'));
    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 0']); // before the next request
    expect(await samples('sluice_breaker_transitions_total')).toEqual([
      '{limiter="observed",state="open"} 1',
      '{limiter="observed",state="half-open"} 1',
      '{limiter="observed",state="closed"} 1',
    ]);
  });

  it('is counted by its probes as well, while nothing else is sent: an outage that lasts does not look like one that has ended', async () => {
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'] });
    const limiter = limiterOf({ store: new Fickle() });
    await limiter.consume('key');
    await limiter.consume('key');

    await jest.advanceTimersByTimeAsync(1000);

    expect(await samples('sluice_store_errors_total')).toEqual(['{limiter="observed",store="redis",kind="other"} 12']);
    expect(await samples('sluice_breaker_transitions_total')).toEqual([
      '{limiter="observed",state="open"} 11',
      '{limiter="observed",state="half-open"} 10',
    ]);
  });

  it('counts for each of its limiters', async () => {
    const store = new Fickle();
    const first = limiterOf({ store, name: 'observed-first' });
    limiterOf({ store, name: 'observed-second' });

    await first.consume('key');
    await first.consume('key');

    expect(await samples('sluice_breaker_transitions_total')).toEqual([
      '{limiter="observed-first",state="open"} 1',
      '{limiter="observed-second",state="open"} 1',
    ]);
  });

  it.each(['local', 'allow', 'deny'] as const)(
    'is on its fallback, %s, from the first failure',
    async (onStoreError) => {
      const limiter = limiterOf({ store: new Fickle(), onStoreError });

      await limiter.consume('key');

      expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 1']);
    },
  );

  it('is on its fallback as before when this process answers by what it knew', async () => {
    const limiter = limiterOf({ store: new Fickle() });
    const decision = await limiter.consume('key');

    const known = { ...decision, source: 'cache' };
    channel('sluice:decision').publish({ limiter: 'observed', op: 'consume', decision: known, durationMs: 0 });

    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 1']);
  });

  it('is on its fallback no more when it decides again, without a breaker as well', async () => {
    const store = Object.assign(new Fickle(), { breaker: false as const });
    const limiter = limiterOf({ store });
    await limiter.consume('key');
    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 1']);

    store.isAway = false;
    await limiter.consume('key');

    expect(await samples('sluice_fallback_active')).toEqual(['{limiter="observed"} 0']);
  });
});

describe('a real Redis that is killed', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });

  it('is counted as a connection that failed', async () => {
    const client = connectTo(server.storeUrl);
    const limiter = limiterOf({
      store: redisStore(client, { prefix: 'sluice', breaker: { failures: 1, probeEveryMs: 60_000 } }),
      timeoutMs: 60_000,
    });
    await until('the store decides', async () => (await limiter.consume('key')).source === 'redis');
    register.resetMetrics();

    await server.kill();
    await limiter.consume('key');
    client.disconnect();

    expect(await samples('sluice_store_errors_total')).toEqual([
      '{limiter="observed",store="redis",kind="connection"} 1',
    ]);
    expect(await samples('sluice_breaker_state')).toContain('{limiter="observed",state="closed"} 0');
  });
});

describe('what is shown of a limiter', () => {
  it('is nothing once it is closed', async () => {
    const limiter = limiterOf({ store: new Fickle() });
    await limiter.consume('key');
    const shown = async () =>
      Promise.all(
        ['sluice_keys_in_memory', 'sluice_fallback_active', 'sluice_breaker_state'].map((name) => samples(name)),
      );
    expect((await shown()).map(({ length }) => length)).toEqual([1, 1, 3]);

    await limiter.close();

    expect(await shown()).toEqual([[], [], []]);
  });

  it('has no breaker where it counts in memory', async () => {
    await limiterOf().consume('key');

    expect(await samples('sluice_breaker_state')).toEqual([]);
    expect(await samples('sluice_keys_in_memory')).toEqual(['{limiter="observed"} 1']);
  });

  it('is once what several of its name hold in one store, and the sum over several stores', async () => {
    const store = memoryStore();
    const budget = limiterOf({ store, shared: true });
    const same = limiterOf({ store, shared: true });
    const elsewhere = limiterOf();

    await budget.consume('one');
    await same.consume('two');
    await elsewhere.consume('three');

    expect(await samples('sluice_keys_in_memory')).toEqual(['{limiter="observed"} 3']);
  });

  it('is the breaker furthest from closed, of several stores', async () => {
    await limiterOf().consume('key');
    const failing = limiterOf({ store: new Fickle() });
    limiterOf({ store: new Fickle() });
    await failing.consume('key');
    await failing.consume('key');

    expect(await samples('sluice_breaker_state')).toContain('{limiter="observed",state="open"} 1');
  });
});

describe('collectMetrics', () => {
  const heard = () => ['sluice:decision', 'sluice:store.error', 'sluice:breaker'].map((name) => hasSubscribers(name));

  it('removes its metrics, stops listening, and may be called again', async () => {
    const limiter = limiterOf();
    await limiter.consume('key');
    expect(heard()).toEqual([true, true, true]);

    stop();
    expect(heard()).toEqual([false, false, false]);
    expect(register.getMetricsAsArray()).toEqual([]);
    await limiter.consume('key');

    stop = collectMetrics({ register });
    await limiter.consume('key');

    expect(await samples('sluice_decisions_total')).toHaveLength(1);
    expect(await samples('sluice_decisions_total')).toEqual([expect.stringContaining('outcome="denied"')]);
  });

  it('may be ended twice, and removes no metric of a later call', () => {
    register.clear();
    const again = collectMetrics({ register });

    stop();
    stop();

    expect(register.getMetricsAsArray()).toHaveLength(9);
    again();
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it('rejects a second call on one registry, and goes on counting', async () => {
    expect(() => collectMetrics({ register })).toThrow(
      expect.objectContaining({ name: 'PolicyError', code: 'SLUICE_OPTION_INVALID', field: 'register' }),
    );

    await limiterOf().consume('key');
    expect(await samples('sluice_decisions_total')).toEqual([expect.stringMatching(/ 1$/)]);
  });

  it('registers nothing if one name is in use', () => {
    const other = new Registry();
    new Counter({ name: 'sluice_store_errors_total', help: 'another’s', registers: [other] });

    expect(() => collectMetrics({ register: other })).toThrow(/sluice_store_errors_total/);

    expect(other.getMetricsAsArray()).toHaveLength(1);
  });

  it('accepts another prefix, and a registry of OpenMetrics', async () => {
    const open = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>();
    open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const end = collectMetrics({ register: open, prefix: 'shop_limits_' });

    await limiterOf().consume('key');

    expect(await open.metrics()).toContain('shop_limits_decisions_total{limiter="observed"');
    end();
  });

  it('uses the default registry by default', async () => {
    const end = collectMetrics();

    await limiterOf().consume('key');

    expect(await samples('sluice_decisions_total', defaultRegister)).toHaveLength(1);
    end();
    expect(defaultRegister.getMetricsAsArray()).toEqual([]);
  });

  it.each([
    [{ prefix: 'sluice-' }, 'SLUICE_OPTION_INVALID', 'prefix'],
    [{ prefix: 7 }, 'SLUICE_OPTION_INVALID', 'prefix'],
    [{ register: {} }, 'SLUICE_OPTION_INVALID', 'register'],
    [{ register: null }, 'SLUICE_OPTION_INVALID', 'register'],
    [{ registry: 1 }, 'SLUICE_OPTION_UNKNOWN', 'registry'],
  ])('denies %j', (options, code, field) => {
    expect(() => collectMetrics(options as object)).toThrow(expect.objectContaining({ code, field }));
  });
});

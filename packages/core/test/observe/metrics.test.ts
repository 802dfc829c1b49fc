import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Counter, Registry, register as defaultRegister } from 'prom-client';
import { breakers, decisions, storeErrors } from '../../src/channels.ts';
import { forget } from '../../src/observe/live-limiters.ts';
import { collectMetrics } from '../../src/observe/metrics.ts';
import { BY_FALLBACK, changeBreaker, decide, DENIAL, failStore, useLiveLimiters } from './publish.ts';

const live = useLiveLimiters();
let register: Registry;
let stop: () => void;
beforeEach(() => {
  register = new Registry();
  stop = collectMetrics({ register });
});
afterEach(() => {
  stop();
});

/** The samples of a metric as a page of metrics shows them, without its name. */
const samples = async (name: string, of = register): Promise<string[]> => {
  const lines = (await of.getSingleMetricAsString(name)).split('\n');
  return lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length));
};

describe('sluice_decisions_total', () => {
  it('counts decisions by limiter, policy, outcome and source', async () => {
    decide();
    decide(DENIAL);
    decide(DENIAL);
    decide({ outcome: 'unavailable', source: 'none', policy: 'api' });

    expect(await samples('sluice_decisions_total')).toEqual([
      '{limiter="api",policy="hourly",outcome="allowed",source="memory"} 1',
      '{limiter="api",policy="hourly",outcome="denied",source="memory"} 2',
      '{limiter="api",policy="api",outcome="unavailable",source="none"} 1',
    ]);
  });

  it('counts no peeks: they consume nothing, and deny no request', async () => {
    decide(DENIAL, 'peek');

    expect(await samples('sluice_decisions_total')).toEqual([]);
    expect(await samples('sluice_decision_duration_seconds')).toEqual([]);
  });
});

describe('sluice_decision_duration_seconds', () => {
  it('is in seconds, in buckets from 50 µs', async () => {
    decide();

    const shown = await samples('sluice_decision_duration_seconds');

    expect(shown[0]).toBe('_bucket{le="0.00005",limiter="api",source="memory"} 0');
    expect(shown).toContain('_bucket{le="0.25",limiter="api",source="memory"} 1');
    expect(shown).toContain('_sum{limiter="api",source="memory"} 0.25');
  });
});

describe('sluice_near_limit_total', () => {
  it('counts decisions that allowed and left at most a fifth of the limit', async () => {
    decide({ remaining: 3 });
    decide({ remaining: 2 });
    decide({ remaining: 0 });
    decide(DENIAL);
    decide({ remaining: 0, limit: 0 });

    expect(await samples('sluice_near_limit_total')).toEqual(['{limiter="api",policy="hourly"} 2']);
  });
});

describe('sluice_store_errors_total', () => {
  it('counts failed calls by kind, and failed probes for every limiter of the store', async () => {
    failStore();
    changeBreaker('closed', 'open');
    changeBreaker('half-open', 'open');

    expect(await samples('sluice_store_errors_total')).toEqual([
      '{limiter="api",store="redis",kind="timeout"} 2',
      '{limiter="login",store="redis",kind="timeout"} 1',
    ]);
  });
});

describe('the breaker', () => {
  it('is counted by its new state', async () => {
    changeBreaker('closed', 'open');
    changeBreaker('open', 'half-open');

    expect(await samples('sluice_breaker_transitions_total')).toEqual([
      '{limiter="api",state="open"} 1',
      '{limiter="login",state="open"} 1',
      '{limiter="api",state="half-open"} 1',
      '{limiter="login",state="half-open"} 1',
    ]);
  });

  it('is shown as one of three states; of several stores, the one furthest from closed', async () => {
    live({}, { breaker: 'half-open' });
    live({}, { breaker: 'closed' });

    expect(await samples('sluice_breaker_state')).toEqual([
      '{limiter="api",state="open"} 0',
      '{limiter="api",state="half-open"} 1',
      '{limiter="api",state="closed"} 0',
    ]);
  });

  it('is not shown for a limiter in memory', async () => {
    live({}, { store: 'memory' });

    expect(await samples('sluice_breaker_state')).toEqual([]);
  });
});

describe('sluice_fallback_active', () => {
  const shown = async (): Promise<string | undefined> => (await samples('sluice_fallback_active'))[0];

  it('is 1 from a decision of the fallback until the store decides again', async () => {
    live({});
    expect(await shown()).toBe('{limiter="api"} 0');

    decide(BY_FALLBACK);
    expect(await shown()).toBe('{limiter="api"} 1');
    decide({ source: 'cache' }); // tells nothing of the store
    expect(await shown()).toBe('{limiter="api"} 1');

    decide({ source: 'redis' });
    expect(await shown()).toBe('{limiter="api"} 0');
  });

  it('is 0 when the breaker closes, before the next decision', async () => {
    live({});
    decide(BY_FALLBACK);

    changeBreaker('half-open', 'closed');

    expect(await shown()).toBe('{limiter="api"} 0');
  });
});

describe('what is shown of a limiter', () => {
  it('is its limits, and its keys in memory', async () => {
    live(
      {
        policies: () => [
          { name: 'hourly', limit: 2 },
          { name: 'burst', limit: 20 },
        ],
      },
      { keysInMemory: 4 },
    );

    expect(await samples('sluice_limit')).toEqual([
      '{limiter="api",policy="hourly"} 2',
      '{limiter="api",policy="burst"} 20',
    ]);
    expect(await samples('sluice_keys_in_memory')).toEqual(['{limiter="api"} 4']);
  });

  it('is once what several of its name hold in one store, and the sum over several stores', async () => {
    const store = {};
    live({ store }, { keysInMemory: 2 });
    live({ store }, { keysInMemory: 2 });
    live({}, { keysInMemory: 1 });

    expect(await samples('sluice_keys_in_memory')).toEqual(['{limiter="api"} 3']);
  });

  it('is nothing once it is closed', async () => {
    const limiter = live({});
    await samples('sluice_breaker_state');

    forget(limiter);

    const gauges = ['sluice_limit', 'sluice_keys_in_memory', 'sluice_fallback_active', 'sluice_breaker_state'];
    expect(await Promise.all(gauges.map((name) => samples(name)))).toEqual([[], [], [], []]);
  });
});

describe('collectMetrics', () => {
  const isHeard = (): boolean[] => [decisions, storeErrors, breakers].map(({ hasSubscribers }) => hasSubscribers);

  it('removes its metrics, stops listening, and may be called again', async () => {
    expect(isHeard()).toEqual([true, true, true]);

    stop();
    expect([isHeard(), register.getMetricsAsArray()]).toEqual([[false, false, false], []]);
    stop = collectMetrics({ register });
    decide();

    expect(await samples('sluice_decisions_total')).toEqual([expect.stringMatching(/ 1$/)]);
  });

  it('may be ended twice, and removes no metric of a later call', () => {
    register.clear();
    const again = collectMetrics({ register });

    stop();
    stop();

    expect(register.getMetricsAsArray()).toHaveLength(9);
    again();
  });

  it('registers nothing if one name is in use', () => {
    const other = new Registry();
    new Counter({ name: 'sluice_store_errors_total', help: 'of another', registers: [other] });

    expect(() => collectMetrics({ register: other })).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field: 'register' }),
    );
    expect(other.getMetricsAsArray()).toHaveLength(1);
  });

  it('accepts another prefix, and a registry of OpenMetrics', async () => {
    const open = new Registry<typeof Registry.OPENMETRICS_CONTENT_TYPE>();
    open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const end = collectMetrics({ register: open, prefix: 'shop_limits_' });

    decide();

    expect(await open.metrics()).toContain('shop_limits_decisions_total{limiter="api"');
    end();
  });

  it('uses the default registry by default', async () => {
    const end = collectMetrics();

    decide();

    expect(await samples('sluice_decisions_total', defaultRegister)).toHaveLength(1);
    end();
  });

  it.each([
    [{ prefix: 'sluice-' }, 'SLUICE_OPTION_INVALID', 'prefix'],
    [{ prefix: 7 }, 'SLUICE_OPTION_INVALID', 'prefix'],
    [{ register: {} }, 'SLUICE_OPTION_INVALID', 'register'],
    [{ register: null }, 'SLUICE_OPTION_INVALID', 'register'],
    [{ registry: 1 }, 'SLUICE_OPTION_UNKNOWN', 'registry'],
  ])('rejects %j', (options, code, field) => {
    expect(() => collectMetrics(options as object)).toThrow(expect.objectContaining({ code, field }));
  });
});

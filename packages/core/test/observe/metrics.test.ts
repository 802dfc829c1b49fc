import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Counter, Registry, register as defaultRegister } from 'prom-client';
import { breakers, decisions, storeErrors } from '../../src/channels.ts';
import { forget } from '../../src/observe/live-limiters.ts';
import { collectMetrics } from '../../src/observe/metrics.ts';
import { changeBreaker, decide, DENIAL, failStore, useLiveLimiters } from './publish.ts';

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

/** The samples of one metric, or of all, as a page shows them. */
const samples = async (name = '', of = register): Promise<string[]> =>
  (await of.metrics()).split('\n').filter((line) => line.startsWith(name) && line !== '' && !line.startsWith('#'));

describe('what happened', () => {
  it('is counted by its labels, and decisions are timed; a peek consumes nothing and denies no request', async () => {
    decide();
    decide(DENIAL);
    decide(DENIAL);
    decide(DENIAL, 'peek');

    expect(await samples('sluice_decisions_total')).toEqual([
      'sluice_decisions_total{limiter="api",policy="hourly",outcome="allowed",source="memory"} 1',
      'sluice_decisions_total{limiter="api",policy="hourly",outcome="denied",source="memory"} 2',
    ]);
    expect(await samples('sluice_decision_duration_seconds')).toEqual(
      expect.arrayContaining([
        'sluice_decision_duration_seconds_bucket{le="0.00005",limiter="api",source="memory"} 0',
        'sluice_decision_duration_seconds_sum{limiter="api",source="memory"} 0.75',
      ]),
    );
  });

  it('is near its limit if it allowed and left at most a fifth of it', async () => {
    decide({ remaining: 3 });
    decide(DENIAL);
    decide({ remaining: 0, limit: 0 });
    expect(await samples('sluice_near_limit')).toEqual([]);

    decide({ remaining: 2 });

    expect(await samples('sluice_near_limit')).toEqual(['sluice_near_limit_total{limiter="api",policy="hourly"} 1']);
  });

  it('is a failure of the store by its kind, probes too for each limiter: an outage that lasts does not look over', async () => {
    failStore();
    changeBreaker('closed', 'open');
    changeBreaker('open', 'half-open');
    changeBreaker('half-open', 'open');

    expect(await samples('sluice_store_errors')).toEqual([
      'sluice_store_errors_total{limiter="api",store="redis",kind="timeout"} 2',
      'sluice_store_errors_total{limiter="login",store="redis",kind="timeout"} 1',
    ]);
    expect(await samples('sluice_breaker_transitions_total{limiter="api"')).toEqual([
      'sluice_breaker_transitions_total{limiter="api",state="open"} 2',
      'sluice_breaker_transitions_total{limiter="api",state="half-open"} 1',
    ]);
  });
});

describe('what a limiter is at present', () => {
  it('is shown until it is closed', async () => {
    const policies = () => [
      { name: 'hourly', limit: 2 },
      { name: 'burst', limit: 20 },
    ];
    const limiter = live({ policies }, { keysInMemory: 3, lostPolicies: ['orders', 'mail'] });

    expect(await samples()).toEqual([
      'sluice_breaker_state{limiter="api",state="open"} 0',
      'sluice_breaker_state{limiter="api",state="half-open"} 0',
      'sluice_breaker_state{limiter="api",state="closed"} 1',
      'sluice_fallback_active{limiter="api"} 0',
      'sluice_keys_in_memory{limiter="api"} 3',
      'sluice_limit{limiter="api",policy="hourly"} 2',
      'sluice_limit{limiter="api",policy="burst"} 20',
      'sluice_policies_lost{limiter="api"} 2',
    ]);
    forget(limiter);
    expect(await samples()).toEqual([]);
  });

  it('is what several of its name hold, once for each store, and the breaker furthest from closed', async () => {
    const store = {};
    live({ store }, { keysInMemory: 2, breaker: 'half-open' });
    live({ store }, { keysInMemory: 2, breaker: 'half-open' });
    live({}, { keysInMemory: 1 });
    live({}, { store: 'memory' });

    expect(await samples('sluice_keys')).toEqual(['sluice_keys_in_memory{limiter="api"} 3']);
    expect(await samples('sluice_breaker_state{limiter="api",state="half-open"}')).toEqual([
      'sluice_breaker_state{limiter="api",state="half-open"} 1',
    ]);
  });

  it('is on its fallback until the store decides again, or the breaker closes', async () => {
    live({});
    const acts = [
      ...(['local', 'cache', 'redis', 'none'] as const).map((source) => () => decide({ source })),
      () => changeBreaker('half-open', 'closed'),
    ];
    const states: string[] = [];
    for (const act of acts) {
      act();
      states.push(...(await samples('sluice_fallback')).map((line) => line.slice(-1)));
    }

    // A denial from the cache tells nothing of the store.
    expect(states).toEqual(['1', '1', '0', '1', '0']);
  });
});

describe('collectMetrics', () => {
  it('removes its metrics, stops listening, and may be called again', async () => {
    stop();
    const channels = [decisions, storeErrors, breakers].map(({ hasSubscribers }) => hasSubscribers);
    expect([channels, register.getMetricsAsArray()]).toEqual([[false, false, false], []]);

    stop = collectMetrics({ register });
    decide();

    expect(await samples('sluice_decisions_total')).toEqual([expect.stringMatching(/ 1$/)]);
  });

  it('may be ended twice, and removes no metric of a later call', () => {
    register.clear();
    const again = collectMetrics({ register });

    stop();
    stop();

    expect(register.getMetricsAsArray()).toHaveLength(10);
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

  it('accepts another prefix, and has the default registry of prom-client', async () => {
    const end = collectMetrics({ prefix: 'shop_limits_' });

    decide();

    expect(await samples('shop_limits_decisions_total{limiter="api"', defaultRegister)).toHaveLength(1);
    end();
  });

  it.each([
    [{ prefix: 'sluice-' }, 'SLUICE_OPTION_INVALID', 'prefix'],
    [{ register: null }, 'SLUICE_OPTION_INVALID', 'register'],
    [{ registry: 1 }, 'SLUICE_OPTION_UNKNOWN', 'registry'],
  ])('rejects %j', (options, code, field) => {
    expect(() => collectMetrics(options as object)).toThrow(expect.objectContaining({ code, field }));
  });
});

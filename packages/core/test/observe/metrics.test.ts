import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Counter, Registry, register as defaultRegister } from 'prom-client';
import { breakers, decisions, storeErrors } from '../../src/channels.ts';
import { forget } from '../../src/observe/live-limiters.ts';
import { collectMetrics } from '../../src/observe/metrics.ts';
import { decide, DENIAL, useLiveLimiters } from './publish.ts';

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

/** The samples of metrics as a page shows them. */
const samples = async (of = register): Promise<string[]> =>
  (await of.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('collectMetrics', () => {
  it('shows what happened, and what limiters are at present', async () => {
    const limiter = live({}, { keysInMemory: 3 });
    decide();
    decide(DENIAL);
    decide(DENIAL);

    expect(await samples()).toEqual(
      expect.arrayContaining([
        'sluice_decisions_total{limiter="api",policy="hourly",outcome="allowed",source="memory"} 1',
        'sluice_decisions_total{limiter="api",policy="hourly",outcome="denied",source="memory"} 2',
        'sluice_decision_duration_seconds_bucket{le="0.00005",limiter="api",source="memory"} 0',
        'sluice_decision_duration_seconds_sum{limiter="api",source="memory"} 0.75',
        'sluice_breaker_state{limiter="api",state="closed"} 1',
        'sluice_fallback_active{limiter="api"} 0',
        'sluice_keys_in_memory{limiter="api"} 3',
        'sluice_limit{limiter="api",policy="hourly"} 10',
      ]),
    );

    forget(limiter);
    expect((await samples()).filter((line) => /breaker_state|fallback|keys_in|limit\{/.test(line))).toEqual([]);
  });

  it('removes its metrics, stops listening, and may be called again', async () => {
    stop();
    expect([decisions, storeErrors, breakers].map(({ hasSubscribers }) => hasSubscribers)).toEqual([
      false,
      false,
      false,
    ]);
    expect(register.getMetricsAsArray()).toEqual([]);

    stop = collectMetrics({ register });
    decide();

    expect((await samples()).filter((line) => line.includes('decisions_total'))).toEqual([
      expect.stringMatching(/ 1$/),
    ]);
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

    expect((await samples(defaultRegister))[0]).toMatch(/^shop_limits_decisions_total\{limiter="api"/);
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

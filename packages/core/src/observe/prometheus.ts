import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import { DECISION_SECONDS } from './decision-seconds.ts';
import { BREAKER_STATES, type GaugeReader, type LimiterGauges } from './gauges.ts';

/** A registry of prom-client, of either format. */
export type AnyRegistry = Registry | Registry<OpenMetricsContentType>;

/** What the metrics are called, after their prefix. */
export const METRIC_NAMES = [
  'decisions_total',
  'decision_duration_seconds',
  'store_errors_total',
  'breaker_transitions_total',
  'breaker_state',
  'fallback_active',
  'keys_in_memory',
] as const;

type MetricName = (typeof METRIC_NAMES)[number];

/** The metrics that events are counted in. */
export interface EventMetrics {
  readonly decisions: Counter<'limiter' | 'policy' | 'outcome' | 'source'>;
  readonly durations: Histogram<'limiter' | 'source'>;
  readonly storeErrors: Counter<'limiter' | 'store' | 'kind'>;
  readonly transitions: Counter<'limiter' | 'state'>;
}

/** Registers all metrics: those that events are counted in, and those that are read when somebody looks. */
export function registerMetrics(register: AnyRegistry, prefix: string, gauges: GaugeReader): EventMetrics {
  const registers = [register];
  const gauge = <Label extends string>(
    name: MetricName,
    help: string,
    labelNames: readonly Label[],
    show: (metric: Gauge<Label>, values: LimiterGauges) => void,
  ): Gauge<Label> =>
    new Gauge<Label>({
      name: prefix + name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset(); // a limiter that was closed is not shown any more
        for (const values of gauges.read()) show(this, values);
      },
    });
  gauge(
    'breaker_state',
    'Whether the breaker before the store of a limiter is in this state (1) or not (0); in a cluster, the one of its breakers that is furthest from closed.',
    ['limiter', 'state'],
    (metric, { limiter, breaker }) => {
      if (breaker === undefined) return;
      for (const state of BREAKER_STATES) metric.set({ limiter, state }, state === breaker ? 1 : 0);
    },
  );
  gauge(
    'fallback_active',
    'Whether the last decision of a limiter was made by what stands in for its store (1) or not (0).',
    ['limiter'],
    (metric, { limiter, isOnFallback }) => {
      metric.set({ limiter }, isOnFallback ? 1 : 0);
    },
  );
  gauge(
    'keys_in_memory',
    'Keys in the memory store of a limiter, or in the memory that stands in for its store. Limiters that share a store each show all its keys.',
    ['limiter'],
    (metric, { limiter, keysInMemory }) => {
      metric.set({ limiter }, keysInMemory);
    },
  );
  const name = (short: MetricName): string => prefix + short;
  return {
    decisions: new Counter({
      name: name('decisions_total'),
      help: 'Decisions, without peeks.',
      labelNames: ['limiter', 'policy', 'outcome', 'source'],
      registers,
    }),
    durations: new Histogram({
      name: name('decision_duration_seconds'),
      help: 'How long decisions took, without peeks.',
      labelNames: ['limiter', 'source'],
      buckets: [...DECISION_SECONDS],
      registers,
    }),
    storeErrors: new Counter({
      name: name('store_errors_total'),
      help: 'Calls of a store that failed or were late, probes included.',
      labelNames: ['limiter', 'store', 'kind'],
      registers,
    }),
    transitions: new Counter({
      name: name('breaker_transitions_total'),
      help: 'Changes of a breaker, by the state that it came to.',
      labelNames: ['limiter', 'state'],
      registers,
    }),
  };
}

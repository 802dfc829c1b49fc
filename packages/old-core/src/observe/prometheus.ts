import { Counter, Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import { DECISION_SECONDS } from './decision-seconds.ts';
import { BREAKER_STATES, type GaugeReader, type LimiterGauges } from './gauges.ts';

/** A registry of prom-client, of either format. */
export type AnyRegistry = Registry | Registry<OpenMetricsContentType>;

/** The names of the metrics, after their prefix. */
export const METRIC_NAMES = [
  'decisions_total',
  'decision_duration_seconds',
  'store_errors_total',
  'breaker_transitions_total',
  'breaker_state',
  'fallback_active',
  'keys_in_memory',
  'limit',
  'near_limit_total',
] as const;

type MetricName = (typeof METRIC_NAMES)[number];

/** The metrics that count events. */
export interface EventMetrics {
  readonly decisions: Counter<'limiter' | 'policy' | 'outcome' | 'source'>;
  readonly durations: Histogram<'limiter' | 'source'>;
  readonly storeErrors: Counter<'limiter' | 'store' | 'kind'>;
  readonly transitions: Counter<'limiter' | 'state'>;
  readonly nearLimit: Counter<'limiter' | 'policy'>;
}

/** Registers all metrics: those that count events, and gauges that are read when metrics are collected. */
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
        this.reset(); // closed limiters disappear
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
    'Whether the fallback of its store made the last decision of a limiter (1) or not (0).',
    ['limiter'],
    (metric, { limiter, isOnFallback }) => {
      metric.set({ limiter }, isOnFallback ? 1 : 0);
    },
  );
  gauge(
    'keys_in_memory',
    'Keys in the memory store of a limiter, or in the fallback of its store. Limiters that share a store each show all its keys.',
    ['limiter'],
    (metric, { limiter, keysInMemory }) => {
      metric.set({ limiter }, keysInMemory);
    },
  );
  gauge(
    'limit',
    'Units that can be had at once: the limit of a window, the capacity of a bucket. Keys may have other numbers.',
    ['limiter', 'policy'],
    (metric, { limiter, limits }) => {
      for (const [policy, limit] of limits) metric.set({ limiter, policy }, limit);
    },
  );
  const counter = <Label extends string>(
    name: MetricName,
    help: string,
    labelNames: readonly Label[],
  ): Counter<Label> => new Counter({ name: prefix + name, help, labelNames, registers });
  return {
    decisions: counter('decisions_total', 'Decisions, without peeks.', ['limiter', 'policy', 'outcome', 'source']),
    durations: new Histogram({
      name: `${prefix}decision_duration_seconds`,
      help: 'How long decisions took, without peeks.',
      labelNames: ['limiter', 'source'],
      buckets: [...DECISION_SECONDS],
      registers,
    }),
    storeErrors: counter('store_errors_total', 'Calls of a store that failed or were late, including probes.', [
      'limiter',
      'store',
      'kind',
    ]),
    transitions: counter('breaker_transitions_total', 'Changes of a breaker, by its new state.', ['limiter', 'state']),
    nearLimit: counter(
      'near_limit_total',
      'Decisions that allowed, and left at most a fifth of the limit of the policy that decided.',
      ['limiter', 'policy'],
    ),
  };
}

/** A metric, as prom-client and OpenTelemetry have it. docs/reference/observability.md describes each. */
export interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** Its name in OpenTelemetry, after `sluice.`. */
  readonly id: MetricId;
  /** Its name in Prometheus, after the prefix. */
  readonly name: string;
  readonly unit: string;
  readonly labels: readonly Label[];
  readonly help: string;
}

/** Values are names from the configuration and words of fixed lists, never a key, an address or a path. */
export type Label = 'limiter' | 'policy' | 'outcome' | 'source' | 'store' | 'kind' | 'state';
export type Labels = Partial<Record<Label, string>>;

export type MetricId =
  | 'decisions'
  | 'decision.duration'
  | 'store.errors'
  | 'breaker.transitions'
  | 'near_limit'
  | 'breaker.state'
  | 'fallback.active'
  | 'memory.keys'
  | 'limit'
  | 'policies.lost';

/** Takes a value: of a counter what to add, of a histogram one observation, of a gauge its present value. */
export type Report = (id: MetricId, labels: Labels, value: number) => void;

export const METRICS: readonly Metric[] = [
  {
    id: 'decisions',
    kind: 'counter',
    name: 'decisions_total',
    unit: '{decision}',
    labels: ['limiter', 'policy', 'outcome', 'source'],
    help: 'Decisions, without peeks.',
  },
  {
    id: 'decision.duration',
    kind: 'histogram',
    name: 'decision_duration_seconds',
    unit: 's',
    labels: ['limiter', 'source'],
    help: 'How long decisions took, without peeks.',
  },
  {
    id: 'store.errors',
    kind: 'counter',
    name: 'store_errors_total',
    unit: '{error}',
    labels: ['limiter', 'store', 'kind'],
    help: 'Calls of a store that failed or were late, including probes.',
  },
  {
    id: 'breaker.transitions',
    kind: 'counter',
    name: 'breaker_transitions_total',
    unit: '{transition}',
    labels: ['limiter', 'state'],
    help: 'Changes of a breaker, by its new state.',
  },
  {
    id: 'near_limit',
    kind: 'counter',
    name: 'near_limit_total',
    unit: '{decision}',
    labels: ['limiter', 'policy'],
    help: 'Decisions that allowed, and left at most a fifth of the limit of the policy that decided.',
  },
  {
    id: 'breaker.state',
    kind: 'gauge',
    name: 'breaker_state',
    unit: '',
    labels: ['limiter', 'state'],
    help: "Whether the breaker of the limiter's store is in this state (1) or not (0).",
  },
  {
    id: 'fallback.active',
    kind: 'gauge',
    name: 'fallback_active',
    unit: '',
    labels: ['limiter'],
    help: 'Whether the fallback of its store made the last decision of a limiter (1) or not (0).',
  },
  {
    id: 'memory.keys',
    kind: 'gauge',
    name: 'keys_in_memory',
    unit: '{key}',
    labels: ['limiter'],
    help: 'Keys in the store or fallback of a limiter in this process; limiters on one store each show them all.',
  },
  {
    id: 'limit',
    kind: 'gauge',
    name: 'limit',
    unit: '{unit}',
    labels: ['limiter', 'policy'],
    help: 'Units allowed at once: the limit of a window, the capacity of a bucket. Keys may have other numbers.',
  },
  {
    id: 'policies.lost',
    kind: 'gauge',
    name: 'policies_lost',
    unit: '{policy}',
    labels: ['limiter'],
    help: 'Managed policies that their source has lost, and that this process still has and could not write back yet.',
  },
];

/**
 * The upper bounds of a histogram of decision times, in seconds: from 50 µs, which a decision in memory takes
 * including overhead, over nearby Redis, to a `timeoutMs` of one second.
 */
export const DECISION_SECONDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

/** A metric, as prom-client and OpenTelemetry have it. docs/reference/observability.md describes each. */
export interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** Its name in OpenTelemetry, after `sluice.`; in Prometheus with underscores and, unless it is a gauge, a unit. */
  readonly id: string;
  readonly labels: readonly Label[];
  readonly help: string;
}

/** Values are names from the configuration and words of fixed lists, never a key, an address or a path. */
export type Label = 'limiter' | 'policy' | 'outcome' | 'source' | 'store' | 'kind' | 'state';
export type Labels = Partial<Record<Label, string>>;

/** Receives a value: what to add to a counter, one observation of a histogram, or the current value of a gauge. */
export type Report = (id: string, labels: Labels, value: number) => void;

export const METRICS: readonly Metric[] = [
  {
    kind: 'counter',
    id: 'decisions',
    labels: ['limiter', 'policy', 'outcome', 'source'],
    help: 'Decisions, without peeks.',
  },
  {
    kind: 'histogram',
    id: 'decision.duration',
    labels: ['limiter', 'source'],
    help: 'How long decisions took, without peeks.',
  },
  {
    kind: 'counter',
    id: 'store.errors',
    labels: ['limiter', 'store', 'kind'],
    help: 'Calls to a store that failed or were late, including probes.',
  },
  {
    kind: 'counter',
    id: 'breaker.transitions',
    labels: ['limiter', 'state'],
    help: 'State changes of a breaker, by new state.',
  },
  {
    kind: 'counter',
    id: 'near_limit',
    labels: ['limiter', 'policy'],
    help: 'Decisions that allowed a request and left at most a fifth of the limit of the policy that decided.',
  },
  {
    kind: 'gauge',
    id: 'breaker.state',
    labels: ['limiter', 'state'],
    help: "Whether the breaker of the limiter's store is in this state (1) or not (0).",
  },
  {
    kind: 'gauge',
    id: 'fallback.active',
    labels: ['limiter'],
    help: 'Whether the fallback of its store made the last decision of a limiter (1) or not (0).',
  },
  {
    kind: 'gauge',
    id: 'keys_in_memory',
    labels: ['limiter'],
    help: 'Keys in the store or fallback of a limiter in this process; limiters on one store each show them all.',
  },
  {
    kind: 'gauge',
    id: 'limit',
    labels: ['limiter', 'policy'],
    help: 'Units allowed at once: the limit of a window, the capacity of a bucket. Keys may have other numbers.',
  },
  {
    kind: 'gauge',
    id: 'policies.lost',
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

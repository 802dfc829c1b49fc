/** A metric, as prom-client and OpenTelemetry have it. docs/reference/observability.md describes each. */
export interface Metric {
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** Its name in Prometheus, after the prefix. */
  readonly name: string;
  /** Its name in OpenTelemetry, after `sluice.`. */
  readonly instrument: string;
  readonly unit: string;
  readonly help: string;
  readonly labels: readonly Label[];
}

/** Values are names from the configuration and words of fixed lists, never a key, an address or a path. */
export type Label = 'limiter' | 'policy' | 'outcome' | 'source' | 'store' | 'kind' | 'state';
export type Labels = Partial<Record<Label, string>>;

export const DECISIONS: Metric = {
  kind: 'counter',
  name: 'decisions_total',
  instrument: 'decisions',
  unit: '{decision}',
  help: 'Decisions, without peeks.',
  labels: ['limiter', 'policy', 'outcome', 'source'],
};

export const DURATION: Metric = {
  kind: 'histogram',
  name: 'decision_duration_seconds',
  instrument: 'decision.duration',
  unit: 's',
  help: 'How long decisions took, without peeks.',
  labels: ['limiter', 'source'],
};

export const STORE_ERRORS: Metric = {
  kind: 'counter',
  name: 'store_errors_total',
  instrument: 'store.errors',
  unit: '{error}',
  help: 'Calls of a store that failed or were late, including probes.',
  labels: ['limiter', 'store', 'kind'],
};

export const TRANSITIONS: Metric = {
  kind: 'counter',
  name: 'breaker_transitions_total',
  instrument: 'breaker.transitions',
  unit: '{transition}',
  help: 'Changes of a breaker, by its new state.',
  labels: ['limiter', 'state'],
};

export const NEAR_LIMIT: Metric = {
  kind: 'counter',
  name: 'near_limit_total',
  instrument: 'near_limit',
  unit: '{decision}',
  help: 'Decisions that allowed, and left at most a fifth of the limit of the policy that decided.',
  labels: ['limiter', 'policy'],
};

export const BREAKER_STATE: Metric = {
  kind: 'gauge',
  name: 'breaker_state',
  instrument: 'breaker.state',
  unit: '',
  help: 'Whether the breaker before the store of a limiter is in this state (1) or not (0); in a cluster, the one of its breakers that is furthest from closed.',
  labels: ['limiter', 'state'],
};

export const FALLBACK_ACTIVE: Metric = {
  kind: 'gauge',
  name: 'fallback_active',
  instrument: 'fallback.active',
  unit: '',
  help: 'Whether the fallback of its store made the last decision of a limiter (1) or not (0).',
  labels: ['limiter'],
};

export const KEYS_IN_MEMORY: Metric = {
  kind: 'gauge',
  name: 'keys_in_memory',
  instrument: 'memory.keys',
  unit: '{key}',
  help: 'Keys in the memory store of a limiter, or in the fallback of its store. Limiters that share a store each show all its keys.',
  labels: ['limiter'],
};

export const LIMIT: Metric = {
  kind: 'gauge',
  name: 'limit',
  instrument: 'limit',
  unit: '{unit}',
  help: 'Units that can be had at once: the limit of a window, the capacity of a bucket. Keys may have other numbers.',
  labels: ['limiter', 'policy'],
};

export const METRICS: readonly Metric[] = [
  DECISIONS,
  DURATION,
  STORE_ERRORS,
  TRANSITIONS,
  NEAR_LIMIT,
  BREAKER_STATE,
  FALLBACK_ACTIVE,
  KEYS_IN_MEMORY,
  LIMIT,
];

/**
 * The upper bounds of a histogram of decision times, in seconds: from 50 µs, which a decision in memory takes
 * including overhead, over nearby Redis, to a `timeoutMs` of one second.
 */
export const DECISION_SECONDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

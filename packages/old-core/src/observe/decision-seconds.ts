/**
 * The upper bounds of a histogram of decision times, in seconds: from 50 µs, which a decision in memory takes
 * including overhead, over nearby Redis, to a `timeoutMs` of one second.
 */
export const DECISION_SECONDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

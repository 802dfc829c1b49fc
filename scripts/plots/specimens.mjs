/** The window of the limits, and the span over which units are summed. */
export const WINDOW_MS = 20_000;

/**
 * The policies that are drawn, each with what it promises: the most units in any interval of 20 seconds, or at any
 * instant (`running`). All but `concurrency` allow 2 a second in the long run. Another policy is another line.
 *
 * - `units`: the cost of a request; the traffic then has that many times fewer requests.
 * - `paced`: allowed units are counted when they may start, not when they were decided.
 */
export const specimens = [
  { file: 'fixed-window', make: 'fixedWindow', options: { limit: 40, window: '20s' }, promise: 79 },
  {
    file: 'fixed-window-clock',
    make: 'fixedWindow',
    options: { limit: 40, window: '20s', align: 'clock' },
    promise: 80,
  },
  { file: 'sliding-window', make: 'slidingWindow', options: { limit: 40, window: '20s' }, promise: 40 },
  { file: 'sliding-counter', make: 'slidingCounter', options: { limit: 40, window: '20s' }, promise: 79 },
  { file: 'sliding-log', make: 'slidingLog', options: { limit: 40, window: '20s' }, promise: 40 },
  { file: 'token-bucket', make: 'tokenBucket', options: { capacity: 20, refill: 2, every: '1s' }, promise: 60 },
  {
    file: 'token-bucket-interval',
    make: 'tokenBucket',
    options: { capacity: 20, refill: 10, every: '5s', mode: 'interval' },
    promise: 60,
  },
  {
    file: 'token-bucket-overdraft',
    make: 'tokenBucket',
    options: { capacity: 20, refill: 2, every: '1s', overdraft: 10 },
    units: 8,
    promise: 70,
  },
  {
    file: 'leaky-bucket',
    make: 'leakyBucket',
    options: { limit: 40, window: '20s', maxDelay: '5s' },
    paced: true,
    promise: 40,
  },
  {
    file: 'concurrency',
    make: 'concurrency',
    options: { limit: 10, ttl: '30s' },
    slots: true,
    running: true,
    promise: 10,
  },
];

/** The policy as it is written in code. */
export function written({ make, options }) {
  const fields = Object.entries(options).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`,
  );
  return `${make}({ ${fields.join(', ')} })`;
}

import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';

/** One option of a policy, as a field of a form. All values are text, as they are typed. */
export interface PolicyField {
  readonly name: string;
  readonly type: 'units' | 'duration' | 'choice' | 'switch';
  /** The value of the option when its field is empty. Absent: the option has to be given. */
  readonly otherwise?: string;
  readonly choices?: readonly string[];
}

/** One of the eight policies. Two of them have one function, `tokenBucket`. */
export interface PolicyKind {
  readonly id: string;
  /** The function that makes it. */
  readonly make: string;
  readonly title: string;
  /** Its promise, in a sentence. */
  readonly promise: string;
  readonly fields: readonly PolicyField[];
  /** Options that the kind itself gives. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** The values of a new one. */
  readonly initial: Readonly<Record<string, string>>;
  readonly from: (options: never) => Policy;
}

const limit: PolicyField = { name: 'limit', type: 'units' };
const window: PolicyField = { name: 'window', type: 'duration' };
const overdraft: PolicyField = { name: 'overdraft', type: 'units', otherwise: '0' };
const blockFor: PolicyField = { name: 'blockFor', type: 'duration', otherwise: 'no block' };
const bucket: readonly PolicyField[] = [
  { name: 'capacity', type: 'units' },
  { name: 'refill', type: 'units' },
  { name: 'every', type: 'duration' },
  overdraft,
  blockFor,
];

export const POLICY_KINDS: readonly PolicyKind[] = [
  {
    id: 'slidingWindow',
    make: 'slidingWindow',
    title: 'Sliding window',
    promise: 'Never more than the limit in any interval as long as the window.',
    fields: [limit, window, { name: 'precision', type: 'duration', otherwise: 'window / 10' }, blockFor],
    initial: { limit: '40', window: '20s' },
    from: slidingWindow,
  },
  {
    id: 'fixedWindow',
    make: 'fixedWindow',
    title: 'Fixed window',
    promise: 'The limit per window. Around the edge of two windows nearly twice as much can pass.',
    fields: [
      limit,
      window,
      { name: 'align', type: 'choice', choices: ['first-hit', 'clock'], otherwise: 'first-hit' },
      blockFor,
    ],
    initial: { limit: '40', window: '20s' },
    from: fixedWindow,
  },
  {
    id: 'slidingCounter',
    make: 'slidingCounter',
    title: 'Sliding counter',
    promise: 'The limit per window of the clock; an estimate smooths the edge. Two counts per key, whatever the limit.',
    fields: [limit, window, blockFor],
    initial: { limit: '40', window: '20s' },
    from: slidingCounter,
  },
  {
    id: 'slidingLog',
    make: 'slidingLog',
    title: 'Sliding log',
    promise: 'Exactly the limit in any interval as long as the window. Remembers every allowed unit.',
    fields: [limit, window, blockFor],
    initial: { limit: '40', window: '20s' },
    from: slidingLog,
  },
  {
    id: 'tokenBucket',
    make: 'tokenBucket',
    title: 'Token bucket',
    promise: 'A burst of the capacity, then as much as is refilled, evenly.',
    fields: bucket,
    initial: { capacity: '20', refill: '2', every: '1s' },
    from: tokenBucket,
  },
  {
    id: 'intervalBucket',
    make: 'tokenBucket',
    title: 'Token bucket by interval',
    promise: 'A burst of the capacity. The refill comes all at once, every interval.',
    fields: bucket,
    fixed: { mode: 'interval' },
    initial: { capacity: '20', refill: '10', every: '5s' },
    from: tokenBucket,
  },
  {
    id: 'leakyBucket',
    make: 'leakyBucket',
    title: 'Leaky bucket',
    promise: 'Requests wait for their turn and start evenly. One that would wait too long is denied.',
    fields: [limit, window, { name: 'maxDelay', type: 'duration' }],
    initial: { limit: '40', window: '20s', maxDelay: '5s' },
    from: leakyBucket,
  },
  {
    id: 'concurrency',
    make: 'concurrency',
    title: 'Concurrency',
    promise: 'Never more than the limit at the same time. A slot is free again when its request ends.',
    fields: [limit, { name: 'ttl', type: 'duration' }],
    initial: { limit: '10', ttl: '30s' },
    from: concurrency,
  },
];

/** The kind with this id; undefined for any other text. */
export function kindOf(id: string): PolicyKind | undefined {
  return POLICY_KINDS.find((kind) => kind.id === id);
}

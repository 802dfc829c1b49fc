import {
  PolicyError,
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';

/** One option of a policy, as a form field. All values are text, as typed. */
export interface PolicyField {
  readonly name: string;
  /** What an empty field means. Absent: the field is required. */
  readonly otherwise?: string;
  readonly choices?: readonly string[];
  readonly isNumber?: boolean;
}

/** One of the eight policies. Two of them have one function, `tokenBucket`. */
export interface PolicyKind {
  readonly id: string;
  /** The function that creates it, if that is not its id. */
  readonly make?: string;
  readonly title: string;
  /** Its promise, in a sentence. */
  readonly promise: string;
  readonly fields: readonly PolicyField[];
  /** Options that the kind itself sets. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** The initial values. */
  readonly initial: Readonly<Record<string, string>>;
  readonly from: (options: never) => Policy;
}

/** A policy as in its form: text, right or wrong. An empty or missing field has its default. */
export interface PolicyChoice {
  /** The id of a {@link PolicyKind}. */
  readonly kind: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The error of one field. */
export interface FieldError {
  /** The index of the policy. */
  readonly policy: number;
  readonly field: string;
  readonly message: string;
}

export const MAX_POLICIES = 4;

const name: PolicyField = { name: 'name', otherwise: 'default' };
const limit: PolicyField = { name: 'limit', isNumber: true };
const window: PolicyField = { name: 'window' };
const blockFor: PolicyField = { name: 'blockFor', otherwise: 'no block' };
const bucket: readonly PolicyField[] = [
  { name: 'capacity', isNumber: true },
  { name: 'refill', isNumber: true },
  { name: 'every' },
  { name: 'overdraft', otherwise: '0', isNumber: true },
  blockFor,
  name,
];

export const POLICY_KINDS: readonly PolicyKind[] = [
  {
    id: 'slidingWindow',
    title: 'Sliding window',
    promise: 'Never more than the limit in any interval as long as the window.',
    fields: [limit, window, { name: 'precision', otherwise: 'window / 10' }, blockFor, name],
    initial: { limit: '40', window: '20s' },
    from: slidingWindow,
  },
  {
    id: 'fixedWindow',
    title: 'Fixed window',
    promise: 'The limit per window. Around the edge of two windows nearly twice as much can pass.',
    fields: [limit, window, { name: 'align', choices: ['first-hit', 'clock'], otherwise: 'first-hit' }, blockFor, name],
    initial: { limit: '40', window: '20s' },
    from: fixedWindow,
  },
  {
    id: 'slidingCounter',
    title: 'Sliding counter',
    promise: 'The limit per window of the clock; an estimate smooths the edge. Two counts per key, whatever the limit.',
    fields: [limit, window, blockFor, name],
    initial: { limit: '40', window: '20s' },
    from: slidingCounter,
  },
  {
    id: 'slidingLog',
    title: 'Sliding log',
    promise: 'Exactly the limit in any interval as long as the window. Remembers every allowed unit.',
    fields: [limit, window, blockFor, name],
    initial: { limit: '40', window: '20s' },
    from: slidingLog,
  },
  {
    id: 'tokenBucket',
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
    title: 'Leaky bucket',
    promise: 'Requests wait for their turn and start evenly. One that would wait too long is denied.',
    fields: [limit, window, { name: 'maxDelay' }, name],
    initial: { limit: '40', window: '20s', maxDelay: '5s' },
    from: leakyBucket,
  },
  {
    id: 'concurrency',
    title: 'Concurrency',
    promise: 'Never more than the limit at the same time. A slot is free again when its request ends.',
    fields: [limit, { name: 'ttl' }, name],
    initial: { limit: '10', ttl: '30s' },
    from: concurrency,
  },
];

/** The kind with this id; undefined for any other text. */
export function findKind(id: string): PolicyKind | undefined {
  return POLICY_KINDS.find((kind) => kind.id === id);
}

/** The name of the function that creates policies of this kind. */
export const findMaker = (id: string): string => findKind(id)?.make ?? id;

/** A policy of this kind, with its initial numbers. */
export function newPolicy(kind: string): PolicyChoice {
  return { kind, values: findKind(kind)?.initial ?? {} };
}

/** Several policies need a name each: those without one get one. */
export function withNames(choices: readonly PolicyChoice[]): readonly PolicyChoice[] {
  if (choices.length < 2) return choices;
  const taken = new Set(choices.map(({ values }) => values['name']?.toLowerCase()));
  return choices.map((choice) => {
    if (choice.values['name']) return choice;
    const stem = suggestName(choice);
    let free = stem;
    for (let i = 2; taken.has(free.toLowerCase()); i++) free = `${stem}-${String(i)}`;
    taken.add(free.toLowerCase());
    return { ...choice, values: { ...choice.values, name: free } };
  });
}

function suggestName({ kind, values: { window: per = '' } }: PolicyChoice): string {
  if (kind === 'concurrency') return 'at-once';
  if (kind === 'leakyBucket') return 'pace';
  if (findMaker(kind) === 'tokenBucket') return 'burst';
  return /^[\w.]+$/.test(per) ? `per-${per}` : 'window';
}

/** The options for the policy's function, in the order of the form, without those left at their default. */
export function readOptions({ kind, values }: PolicyChoice): Readonly<Record<string, string | number>> {
  const { fields, fixed } = findKind(kind) as PolicyKind;
  const options: Record<string, string | number> = {};
  for (const field of fields) {
    const text = (values[field.name] ?? '').trim();
    if (field.otherwise !== undefined && (text === '' || text === field.otherwise)) continue;
    // Text that is not a number stays text, so that the message shows it.
    options[field.name] = field.isNumber === true && /^\d+$/.test(text) ? Number(text) : text;
  }
  return { ...options, ...fixed };
}

/** Checks the policies: returns them, or what is wrong with them. */
export function checkPolicies(choices: readonly PolicyChoice[]): {
  readonly policies: readonly Policy[] | undefined;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const policies = choices.flatMap((choice, policy) => {
    try {
      return [(findKind(choice.kind) as PolicyKind).from(readOptions(choice) as never)];
    } catch (error) {
      errors.push(readError(error, policy));
      return [];
    }
  });
  if (errors.length > 0) return { policies: undefined, errors };
  try {
    new LimiterCore({}).limitFor(policies);
    return { policies, errors };
  } catch (error) {
    // The message tells which of the names it is.
    return { policies: undefined, errors: [{ ...readError(error, choices.length - 1), field: 'name' }] };
  }
}

function readError(error: unknown, policy: number): FieldError {
  if (!(error instanceof PolicyError)) throw error;
  return { policy, field: error.field.replace(/Ms$/, ''), message: error.message.replace(/ \[SLUICE_\w+\]$/, '') };
}

// traces.jsonl.gz holds 3000 traces of 15 to 60 calls: random, with a preference for edges (the instant of `retryAfterMs`
// and the millisecond before it, ends of windows, `resetAfterMs`). A line is a trace, in JSON. The
// core that answered them wrote the file, which never changes: what answers otherwise by design leaves traces out by tag.
//
// How many traces have each tag:
// - kinds: fixedWindow 531, fixedWindowClock 541, slidingWindow 531, slidingCounter 504,
//   slidingLog 532, tokenBucket 519, intervalBucket 519, leakyBucket 533, concurrency 231
// - numbers: usual 1061, odd 1462, tiny 553, large 515, limit-0 451, overdraft 592
// - several policies: several 888, of them list 302 (on one key), the others `limits` with a key each;
//   keys-left-out 567
// - calls: reserve 1515, refund 1111, charge 764, reset 523, blocks 847, cost-above-limit 2408;
//   slots 231, slot-cost 216 (slots of more than one unit)
// - clocks: clock-back 236 (steps back, and goes on from there), clock-ahead 201 (far ahead, and back). In all
//   others it never steps back. Where it does, no answer depends on whether a state that has ended was freed.
// - changes while keys live on: numbers-change 412 (within a kind; first-hit and clock are one), kind-change 110;
//   managed 329 (a source that knows all versions, and keeps what was used), release 229 (another limiter, of
//   the same name: its policies read what the others have written)
//
// The figures are those of `Decision` and its `policies`, which say what they mean. The name of the limiter is `oracle`,
// and so is that of its only policy in decisions.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** A policy as a person writes it: `kind` is the name of the function that makes it, the rest its options. */
export interface PolicyText {
  readonly kind: string;
  readonly name?: string;
  readonly [option: string]: unknown;
}

/** The figures of one policy of a decision. */
export interface PolicyFigures {
  readonly name: string;
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly used: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly delayMs: number;
  readonly windowMs: number;
  readonly nextAfterMs: number | null;
}

/** Every figure of a decision, except `source`, and `atMs`, which is that of the step. */
export interface Figures {
  readonly outcome: string;
  readonly policy: string;
  readonly cost: number;
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly used: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly delayMs: number;
  readonly policies: readonly PolicyFigures[];
}

/** One call of a limiter. */
export interface Step {
  readonly atMs: number;
  readonly op: Op;
  /** Under `limits` a key for each limit that takes part. */
  readonly key?: string | Readonly<Record<string, string>>;
  /** Units. Of a `settle` the actual ones. */
  readonly cost?: number;
  /** The number of the step whose decision, reservation or slots this is about. A `refund` has this, or a key. */
  readonly of?: number;
  /** Of a `block`: how long, and whether it resets too. */
  readonly duration?: number | string;
  readonly reset?: boolean;
  /** Of an `acquire`: who holds the slot, where it matters what is stored. */
  readonly holder?: string;
  /** Of a `change`: the policy from here on, in place of the one that has its name. */
  readonly policy?: PolicyText;
  /** The answer of consume, peek, reserve and acquire. */
  readonly figures?: Figures;
  /** The answer of renew. */
  readonly held?: boolean;
}

export type Op =
  | ('consume' | 'peek' | 'refund' | 'charge' | 'reset' | 'block' | 'unblock')
  | ('reserve' | 'settle' | 'cancel' | 'acquire' | 'release' | 'renew' | 'change');

export interface Trace {
  readonly seed: number;
  readonly tags: readonly string[];
  /** `policy: policies[0]`, `policy: policies` on one key, or `limits` with a key each. */
  readonly form: 'one' | 'list' | 'limits';
  readonly policies: readonly PolicyText[];
  /** How `change` steps happen: by a source of limits with versions, or as another limiter on the same keys. */
  readonly changes?: 'managed' | 'release';
  readonly steps: readonly Step[];
}

// The order of the figures in the file.
export const FIGURES = [
  ...(['outcome', 'policy', 'cost', 'allowed', 'limit', 'remaining', 'used'] as const),
  ...(['retryAfterMs', 'resetAfterMs', 'delayMs'] as const),
] as const;
export const POLICY_FIGURES = [
  ...(['name', 'allowed', 'limit', 'remaining', 'used'] as const),
  ...(['retryAfterMs', 'resetAfterMs', 'delayMs', 'windowMs', 'nextAfterMs'] as const),
] as const;

/** A step in the file: milliseconds since the one before, operation, arguments, and the figures of the answer. */
export type Written = [
  afterMs: number,
  op: Op,
  call: Partial<Step>,
  figures?: readonly unknown[],
  ...policies: unknown[][],
];

/** The recorded traces, by their seeds. */
export function readTraces(): Trace[] {
  const text = gunzipSync(readFileSync(new URL('traces.jsonl.gz', import.meta.url))).toString();
  return text.trim().split('\n').map(readTrace);
}

function readTrace(line: string): Trace {
  const { atMs, steps, ...trace } = JSON.parse(line) as Omit<Trace, 'steps'> & { atMs: number; steps: Written[] };
  let nowMs = atMs;
  const read = ([afterMs, op, call, figures, ...policies]: Written): Step => {
    const step = { atMs: (nowMs += afterMs), op, ...call };
    if (figures === undefined) return step;
    const all: object = { ...named(FIGURES, figures), policies: policies.map((one) => named(POLICY_FIGURES, one)) };
    return { ...step, figures: all as Figures };
  };
  return { ...trace, steps: steps.map(read) };
}

const named = (names: readonly string[], values: readonly unknown[]): object =>
  Object.fromEntries(names.map((name, i) => [name, values[i]]));

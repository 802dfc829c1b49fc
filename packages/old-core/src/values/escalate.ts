import { parseDuration, type Duration } from './duration.ts';
import { PolicyError } from '../errors.ts';
import { invalidOption } from './check-options.ts';
import { LARGEST_LIMIT } from './numbers.ts';
import { duration, readInner, readOptions, wholeNumber, type OptionTable } from './option.ts';

/** When denials lead to a block, and for how long. {@link escalate} returns it. */
export interface Escalation {
  /** Denials until a block. */
  readonly after: number;
  /** How long each block lasts, in order. The last length repeats. */
  readonly blocksMs: readonly number[];
  /** How long after the last denial, or the end of the last block, denials and blocks are forgotten. */
  readonly decayMs: number;
}

export interface EscalateOptions {
  /** Denials until the key is blocked, at least 1. The last of them already has the outcome `blocked`. */
  after: number;
  /**
   * How long the first block lasts. Each further block lasts twice as long as the one before, up to a day (or up to
   * `block`, if that is longer). Or a list of at most 32 lengths in order. The last one repeats.
   */
  block: Duration | readonly Duration[];
  /** How long after the last denial, or the end of the last block, denials and blocks are forgotten. */
  decay: Duration;
}

/** The longest block by doubling. */
const LONGEST_DOUBLED_MS = 86_400_000;
const MOST_BLOCKS = 32;

const denials = wholeNumber(1, LARGEST_LIMIT, `a whole number of denials from 1 to ${String(LARGEST_LIMIT)}`);

/** The options that a user writes, and those of a result. */
const WRITTEN: OptionTable<Pick<Escalation, 'after'> & { block: readonly number[]; decay: number }> = {
  after: denials,
  block: (given, name) => (Array.isArray(given) ? lengthsOf(given, name) : doubled(duration()(given, name))),
  decay: /* @__PURE__ */ duration(),
};
const KEPT: OptionTable<Escalation> = {
  after: denials,
  blocksMs: (given, name) => lengthsOf(given as readonly unknown[], name),
  decayMs: duration(),
};

/**
 * Blocks those who go on after they were denied: the option `escalate` of a limiter. Once `after` requests of a key
 * have been denied by its policies, the key is blocked, longer each time; while it is blocked nothing is counted. Who
 * was not denied for `decay` begins again. See docs/guides/escalation.md.
 *
 * @throws PolicyError with the field, the expected value and the given one.
 */
export function escalate(options: EscalateOptions): Escalation {
  const { after, block, decay } = readOptions(options, WRITTEN, 'escalate');
  return Object.freeze({ after, blocksMs: Object.freeze(block), decayMs: decay });
}

/**
 * Checks the option `escalate` of a limiter: a result of {@link escalate}, from this process or another (as JSON).
 *
 * @throws PolicyError for anything else.
 */
export function parseEscalation(given: unknown): Escalation {
  const { after, blocksMs, decayMs } = (given ?? {}) as Partial<Record<keyof Escalation, unknown>>;
  if (after === undefined || !Array.isArray(blocksMs) || decayMs === undefined) {
    const expected = 'the result of escalate(), such as escalate({ after: 5, block: "1m", decay: "1h" })';
    throw invalidOption('escalate', expected, given);
  }
  const kept = readInner(given, KEPT, 'escalate');
  Object.freeze(kept.blocksMs);
  return Object.freeze(kept);
}

function lengthsOf(given: readonly unknown[], name: string): readonly number[] {
  if (given.length === 0 || given.length > MOST_BLOCKS) {
    throw new PolicyError(
      name,
      `${name} must be a duration, or a list of 1 to ${String(MOST_BLOCKS)} of them, got a list of ${String(given.length)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return given.map((length, i) => parseDuration(length, `${name}[${String(i)}]`, 'SLUICE_OPTION_INVALID'));
}

function doubled(firstMs: number): readonly number[] {
  const longestMs = Math.max(firstMs, LONGEST_DOUBLED_MS);
  const lengths = [firstMs];
  for (let lengthMs = firstMs; lengthMs < longestMs;) lengths.push((lengthMs = Math.min(2 * lengthMs, longestMs)));
  return lengths;
}

import { parsePolicy, type Policy } from '../policies/index.ts';
import { MAX_ENTRIES } from '../policies/rule.ts';
import { MAX_BLOCKS } from '../policies/sliding-window.ts';
import type { Kind } from '../program/kinds.ts';
import { MAX_COUNT, type Nums } from '../program/numbers.ts';
import { readText } from './text.ts';

/**
 * The policy that wrote a value, as far as the value reveals it. A policy with these numbers reads the used units and
 * their end as the writer does.
 */
export interface Writer {
  readonly policy: Policy;
  /** Whether its limit is the writer's, or just large enough. */
  readonly tellsLimit: boolean;
  /** Whether its other numbers are the writer's. No value contains `blockFor`. */
  readonly tellsTimes: boolean;
}

/**
 * Reads which policy wrote a value. The value of a blocked, unused key only reveals the kind.
 *
 * @throws StoreError `SLUICE_STORE_KEY_FOREIGN` for a value that no store has written.
 */
export function readWriter(key: string, text: string): Writer {
  const { rule, s } = readText(key, text);
  const isUsed = s.length > 0;
  const policy = parsePolicy(WRITERS[rule.kind](isUsed ? s : UNUSED));
  // Merged units no longer reveal the limit under which they were taken: see ALLOWED in the program.
  const isJoined = rule.kind === 'g' ? s[3] === MAX_COUNT : rule.kind === 's' && s[5] === MAX_COUNT;
  return {
    policy,
    tellsLimit: isUsed && !isJoined && !/[til]/.test(rule.kind),
    tellsTimes: rule.kind === 's' ? readPrecision(s) !== undefined : rule.kind !== 'h',
  };
}

/** The length of the blocks of a sliding window; undefined if its window is that of another policy. */
function readPrecision(s: Nums): number | undefined {
  const [, lengthMs, , , windowMs] = s;
  return windowMs % lengthMs === 0 && windowMs / lengthMs <= MAX_BLOCKS ? lengthMs : undefined;
}

/** Instead of the numbers of an unused key. */
const UNUSED = [0, 1, 1, 1, 1, 1, 1] as number[] as Nums;

const WRITERS: Readonly<Record<Kind, (s: Nums) => object>> = {
  f: ([, windowMs, , limit]) => ({ algorithm: 'fixedWindow', limit, windowMs }),
  i: ([, units, refill, everyMs]) => ({ algorithm: 'intervalBucket', capacity: units, refill, everyMs }),
  t: ([, owed, parts, rate]) => {
    return { algorithm: 'tokenBucket', capacity: Math.ceil(owed / parts), refill: rate, everyMs: parts };
  },
  l: ([, owed, parts, rate]) => {
    return { algorithm: 'leakyBucket', limit: rate, windowMs: parts, maxDelayMs: Math.ceil(owed / rate) };
  },
  s(s) {
    const [, , , , windowMs, limit] = s;
    return { algorithm: 'slidingWindow', limit, windowMs, precisionMs: readPrecision(s) ?? windowMs };
  },
  c: ([, windowMs, , , limit]) => ({ algorithm: 'slidingCounter', limit, windowMs }),
  g: ([, , windowMs, limit]) => ({ algorithm: 'slidingLog', limit: Math.min(limit, MAX_ENTRIES), windowMs }),
  h: ([, , , limit]) => ({ algorithm: 'concurrency', limit, ttlMs: 1 }),
};

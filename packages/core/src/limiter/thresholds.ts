import { checkNames, type Reader, valueThat } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import type { Want } from './limits.ts';
import type { SeenDecision } from './publish.ts';

/** When to warn about a key, and how: see {@link LimiterCoreOptions.onThreshold}. */
export interface ThresholdOptions {
  /** Shares of the limit that are used, above 0 and at most 1, such as `[0.5, 0.8]`. */
  readonly at: readonly number[];
  /** Is not awaited. If it throws or rejects, the first error of the process is a warning. */
  readonly call: (event: ThresholdEvent) => unknown;
}

/** A key has used a share of a limit. */
export interface ThresholdEvent {
  readonly limiter: string;
  readonly policy: string;
  /** The key as the application limits it. */
  readonly key: string;
  /** The share that is reached: one of `at`. */
  readonly level: number;
  readonly used: number;
  readonly limit: number;
  /** Until the key is as if never used, in milliseconds. */
  readonly resetAfterMs: number;
  /** The store's instant of the decision, in milliseconds since 1970. */
  readonly atMs: number;
}

/** Keys that are remembered; beyond that, the one that reached a level longest ago may be reported again. */
const MAX_KEYS = 10_000;

const checkThresholds: Reader<ThresholdOptions> = /* @__PURE__ */ valueThat(
  isThresholds,
  'an object such as { at: [0.5, 0.8], call: (event) => ... }, its levels above 0 and at most 1',
);

export const THRESHOLDS: Reader<ThresholdOptions> = (given, field, code) => {
  const thresholds = checkThresholds(given, field, code);
  checkNames(thresholds, ['at', 'call'], field);
  return thresholds;
};

function isThresholds(given: unknown): boolean {
  const { at, call } = (given ?? {}) as Partial<ThresholdOptions>;
  const isLevel = (level: unknown): boolean => typeof level === 'number' && level > 0 && level <= 1;
  return typeof call === 'function' && Array.isArray(at) && at.length > 0 && at.every(isLevel);
}

/**
 * Calls once for each key, policy, level and window. If all units come back at once, the window ends then; of other
 * policies it ends when `windowMs` has passed.
 */
export function watchThresholds({ at, call }: ThresholdOptions): (seen: SeenDecision) => void {
  const levels = [...at].sort((a, b) => a - b);
  const reported = new Map<string, { level: number; readonly untilMs: number }>();
  return ({ limiter: { name }, op, decision: { atMs, policies }, wants }) => {
    if (op === 'peek') return;
    for (const [i, policy] of policies.entries()) {
      const { used, limit, resetAfterMs, nextAfterMs, windowMs } = policy;
      const want = wants[i] as Want;
      // Divided, because 0.55 * 100 is a bit more than 55.
      if (limit === 0 || used / limit < (levels[0] as number)) continue;
      const id = `${want.limit.name}:${policy.name}:${want.subject}`;
      let last = reported.get(id);
      if (last === undefined || last.untilMs <= atMs) {
        reported.delete(id);
        last = { level: 0, untilMs: atMs + (nextAfterMs === resetAfterMs ? resetAfterMs : windowMs) };
        reported.set(id, last);
        if (reported.size > MAX_KEYS) reported.delete(reported.keys().next().value as string);
      }
      for (const level of levels) {
        if (level <= last.level || used / limit < level) continue;
        last.level = level;
        const event = { limiter: name, policy: policy.name, key: want.key, level, used, limit, resetAfterMs, atMs };
        new Promise((resolve) => {
          resolve(call(event));
        }).catch((error: unknown) => {
          warnOnce('SLUICE_THRESHOLD_FAILED', `onThreshold of the limiter ${name} failed: ${String(error)}`, name);
        });
      }
    }
  };
}

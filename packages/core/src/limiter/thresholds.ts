import { shown } from '../errors.ts';
import type { Field, Options } from '../values/shape.ts';
import { functionThat, valueThat } from '../values/shape.ts';
import { warnOnce } from '../warnings.ts';
import type { Want } from './limits.ts';
import type { Watcher } from './publish.ts';

/** A key has used a share of a limit. */
export interface ThresholdEvent {
  readonly limiter: string;
  readonly policy: string;
  /** The key as the application limits it. */
  readonly key: string;
  /** The share that was reached: one of `at`. */
  readonly level: number;
  readonly used: number;
  readonly limit: number;
  /** Milliseconds until the key is as if never used. */
  readonly resetAfterMs: number;
  /** When the decision was made, by the store's clock, in milliseconds since 1970. */
  readonly atMs: number;
}

export const THRESHOLDS = {
  /** Used shares of the limit, above 0 and at most 1, such as `[0.5, 0.8]`. */
  at: valueThat(areLevels, 'a list of shares above 0 and at most 1, such as [0.5, 0.8]') as Field<readonly number[]>,
  /** Not awaited. If it throws or rejects, the first error in a process becomes a warning. */
  call: functionThat('a function, such as ({ key, level }) => ...') as Field<(event: ThresholdEvent) => unknown>,
};

/** When to warn about a key, and how: see {@link LimiterCoreOptions.onThreshold}. */
export interface ThresholdOptions extends Options<typeof THRESHOLDS> {}

function areLevels(given: unknown): boolean {
  const isLevel = (level: unknown): boolean => typeof level === 'number' && level > 0 && level <= 1;
  return Array.isArray(given) && given.length > 0 && given.every(isLevel);
}

/** How many keys are remembered. Beyond that, the key that reached a level longest ago may be reported again. */
const MAX_KEYS = 10_000;

/**
 * Calls once for each key, policy, level and window. If all units come back at once, the window ends then; for other
 * policies, when `windowMs` has passed.
 */
export function watchThresholds({ at, call }: ThresholdOptions): Watcher {
  const levels = [...at].sort((a, b) => a - b);
  const reported = new Map<string, { level: number; readonly untilMs: number }>();
  return ({ limiter: { name }, op, decision: { atMs, policies }, wants }) => {
    if (op === 'peek') return;
    for (const [i, policy] of policies.entries()) {
      const { used, limit, resetAfterMs, nextAfterMs, windowMs } = policy;
      const want = wants[i] as Want;
      // Divided, because 0.55 * 100 is slightly more than 55.
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
        const warn = (error: unknown): void => {
          warnOnce(
            'SLUICE_THRESHOLD_FAILED',
            `onThreshold of the limiter ${shown(name)} failed: ${String(error)}`,
            name,
          );
        };
        Promise.resolve(event).then(call).catch(warn);
      }
    }
  };
}

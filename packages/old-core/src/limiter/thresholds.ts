import { warnOnce } from '../warnings.ts';
import type { LimitRef } from '../engine/limit-source.ts';
import { eachPolicy, watchDecisions, type PublishingCore } from './published.ts';

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

/** Keys that are remembered; beyond that, the one that reached a level longest ago may be told of again. */
const MOST_KEYS = 10_000;

export function isThresholds(given: unknown): given is ThresholdOptions {
  const { at, call } = (given ?? {}) as Partial<ThresholdOptions>;
  const isLevel = (level: unknown): boolean => typeof level === 'number' && level > 0 && level <= 1;
  return typeof call === 'function' && Array.isArray(at) && at.length > 0 && at.every(isLevel);
}

/**
 * Calls once for each key, policy, level and window. Where all units come back at once, the window ends then; of other
 * policies it ends when `windowMs` has passed.
 *
 * @returns Stops that.
 */
export function watchThresholds(
  { name, store, limits }: PublishingCore & { readonly limits: { owns(limit: LimitRef): boolean } },
  { at, call }: ThresholdOptions,
): () => void {
  const levels = at.toSorted((a, b) => a - b);
  const told = new Map<string, { level: number; readonly untilMs: number }>();
  return watchDecisions((published) => {
    const { op, decision } = published.message;
    if (op === 'peek' || published.core.store !== store) return;
    const { atMs } = decision;
    eachPolicy(published, (policy, { limit: ref, subject, key = subject }) => {
      const { used, limit, resetAfterMs, nextAfterMs, windowMs } = policy;
      if (used < limit * (levels[0] as number) || limit === 0 || !limits.owns(ref)) return;
      const id = `${policy.name}:${subject}`;
      let last = told.get(id);
      if (last === undefined || last.untilMs <= atMs) {
        told.delete(id);
        last = { level: 0, untilMs: atMs + (nextAfterMs === resetAfterMs ? resetAfterMs : windowMs) };
        told.set(id, last);
        if (told.size > MOST_KEYS) told.delete(told.keys().next().value as string);
      }
      for (const level of levels) {
        if (level <= last.level || used < limit * level) continue;
        last.level = level;
        const event = { limiter: name, policy: policy.name, key, level, used, limit, resetAfterMs, atMs };
        new Promise((resolve) => {
          resolve(call(event));
        }).catch((error: unknown) => {
          warnOnce('SLUICE_THRESHOLD_FAILED', `onThreshold of the limiter ${name} failed: ${String(error)}`, name);
        });
      }
    });
  });
}

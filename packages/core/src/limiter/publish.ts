import { decisions } from '../channels.ts';
import type { LiveLimiter } from '../observe/live-limiters.ts';
import type { Decision } from './decision.ts';
import type { Want } from './limits.ts';

/** A decision with what no channel holds: the limiter itself, and the keys. */
export interface SeenDecision {
  readonly limiter: LiveLimiter;
  readonly op: 'consume' | 'peek';
  readonly decision: Decision;
  /** From the call to the decision, in milliseconds. */
  readonly durationMs: number;
  /** What was wanted of each of its policies. */
  readonly wants: readonly Want[];
}

export type Watcher = (seen: SeenDecision) => void;

const watchers = new Set<Watcher>();

/**
 * Calls a function with every decision of this process. It must not throw.
 *
 * @returns Stops that.
 */
export function watchDecisions(watcher: Watcher): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** Whether anything wants to know of decisions: else none is published. */
export function isWatched(): boolean {
  return watchers.size > 0 || decisions.hasSubscribers;
}

/** Publishes a decision on `sluice:decision`, and to those that watch decisions with their keys: `own` is one of them. */
export function publish(seen: SeenDecision, own: Watcher | undefined): void {
  own?.(seen);
  for (const watch of watchers) watch(seen);
  const { limiter, op, decision, durationMs } = seen;
  if (decisions.hasSubscribers) {
    decisions.publish({ limiter: limiter.name, op, decision: withoutError(decision), durationMs });
  }
}

/** The cause of an error can hold what the server was sent, keys included. */
function withoutError(decision: Decision): Decision {
  if (decision.error === undefined) return decision;
  const published = { ...decision };
  Reflect.deleteProperty(published, 'error');
  return published;
}

import { decisions } from '../channels.ts';
import type { LiveLimiter } from '../observe/live-limiters.ts';
import type { Decision } from './decision.ts';
import type { Want } from './limits.ts';

/** A decision with what channels leave out: the limiter itself, and the keys. */
export interface SeenDecision {
  readonly limiter: LiveLimiter;
  readonly op: 'consume' | 'peek';
  readonly decision: Decision;
  /** From the call to the decision, in milliseconds. */
  readonly durationMs: number;
  /** The request's wants, with its keys. */
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

/** Whether anything listens for decisions: otherwise none is published. */
export function isWatched(): boolean {
  return watchers.size > 0 || decisions.hasSubscribers;
}

/** Publishes a decision on `sluice:decision`, and to watchers, with its keys. */
export function publish(seen: SeenDecision): void {
  for (const watch of watchers) watch(seen);
  if (!decisions.hasSubscribers) return;
  const { limiter, op, durationMs } = seen;
  const decision = { ...seen.decision };
  Reflect.deleteProperty(decision, 'error'); // its cause can hold what the server was sent, keys included
  decisions.publish({ limiter: limiter.name, op, decision, durationMs });
}

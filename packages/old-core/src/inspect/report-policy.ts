import type { PolicyBase, StateAlone } from '../algorithms/algorithm.ts';
import type { Policy } from '../algorithms/index.ts';
import type { AnyAlgorithm } from '../algorithms/registry.ts';
import type { PolicyReport } from './report.ts';

/** A policy under a key. Its numbers may be unknown. */
export interface KnownPolicy {
  readonly name: string;
  readonly algorithm: AnyAlgorithm;
  readonly policy: PolicyBase | undefined;
}

/** The key under which a policy's state was found. */
interface ReportedKey {
  readonly isBlocked: boolean;
  readonly atMs: number;
  readonly version?: number | null;
  readonly override?: object | null;
  /** The key that would hold the external state. */
  readonly detailKey: string;
}

/** The report on one policy at an instant, by its kernel or, without its numbers, by its state alone. */
export function reportPolicy(
  { name, algorithm, policy }: KnownPolicy,
  state: unknown,
  { isBlocked, atMs, version = null, override = null, detailKey }: ReportedKey,
): PolicyReport {
  const isSummary = algorithm.summarize !== undefined && state !== undefined;
  const own = { detailKey: isSummary ? detailKey : null };
  const known = { name, algorithm: algorithm.name, policy: (policy as Policy | undefined) ?? null, version, override };
  if (policy === undefined) {
    const { used, resetAtMs } = state === undefined ? UNUSED : stateAlone(algorithm, state, atMs);
    return { ...known, used, limit: null, remaining: isBlocked ? 0 : null, resetAtMs: after(atMs, resetAtMs), ...own };
  }
  const { limit, remaining, resetAfterMs } = algorithm.kernel(policy, state, 0, atMs).verdict;
  return {
    ...known,
    used: state === undefined ? 0 : algorithm.used(policy, state, atMs),
    limit,
    remaining: isBlocked ? 0 : remaining,
    resetAtMs: after(atMs, atMs + resetAfterMs),
    ...own,
  };
}

/**
 * Whether a state lasts longer than this policy could make it last, so that another policy wrote it. The longest
 * possible state is one with the most units, consumed just now.
 */
export function isWrittenByAnother({ algorithm, policy }: KnownPolicy, state: unknown, atMs: number): boolean {
  if (policy === undefined || state === undefined) return false;
  const endMs = stateAlone(algorithm, state, atMs).resetAtMs ?? algorithm.resetAtMs(policy, state);
  return endMs > algorithm.resetAtMs(policy, algorithm.migrate(policy, Number.MAX_SAFE_INTEGER, atMs));
}

const UNUSED: StateAlone = { used: 0, resetAtMs: null };
const UNKNOWN: StateAlone = { used: null, resetAtMs: null };

/** The figures of a state without its policy. */
function stateAlone(algorithm: AnyAlgorithm, state: unknown, nowMs: number): StateAlone {
  return algorithm.inspect?.(state, nowMs) ?? UNKNOWN;
}

function after(nowMs: number, atMs: number | null): number | null {
  return atMs !== null && atMs > nowMs ? atMs : null;
}

import type { PolicyBase } from '../algorithms/algorithm.ts';
import type { AnyAlgorithm, Policy } from '../algorithms/index.ts';
import { stateAlone } from './state-alone.ts';
import type { PolicyReport } from './report.ts';

/** A policy under a key: its numbers only where they are known. */
export interface KnownPolicy {
  readonly name: string;
  readonly algorithm: AnyAlgorithm;
  readonly policy: PolicyBase | undefined;
}

/** The key that a policy's state was found under. */
interface ReportedKey {
  readonly isBlocked: boolean;
  readonly atMs: number;
  readonly version?: number | null;
  /** Where the rest of a long state would lie. */
  readonly detailKey: string;
}

/** How things stand with one policy at an instant, as its kernel says or, without its numbers, as its state says. */
export function reportPolicy(
  { name, algorithm, policy }: KnownPolicy,
  state: unknown,
  { isBlocked, atMs, version = null, detailKey }: ReportedKey,
): PolicyReport {
  const isOutline = algorithm.outline !== undefined && state !== undefined;
  const own = { detailKey: isOutline ? detailKey : null };
  const known = { name, algorithm: algorithm.name, policy: (policy as Policy | undefined) ?? null, version };
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
 * Whether a state lasts longer than this policy could make it last, so that another one wrote it. Units that were taken just
 * now, as many as there may be, last longest.
 */
export function isOfAnother({ algorithm, policy }: KnownPolicy, state: unknown, atMs: number): boolean {
  if (policy === undefined || state === undefined) return false;
  const endMs = stateAlone(algorithm, state, atMs).resetAtMs ?? algorithm.resetAtMs(policy, state);
  return endMs > algorithm.resetAtMs(policy, algorithm.carry(policy, Number.MAX_SAFE_INTEGER, atMs));
}

const UNUSED = { used: 0, resetAtMs: null } as const;

function after(nowMs: number, atMs: number | null): number | null {
  return atMs !== null && atMs > nowMs ? atMs : null;
}

import { PolicyError, shown } from '../errors.ts';
import { memoryStore, type MemoryStore } from './memory/memory-store.ts';
import { isFastPathEligible, type Limit, type Part, type Store, type StoreRequest } from '../engine/store.ts';

/** The store that decides while another store is unavailable. */
export interface FallbackStore extends Store {
  readonly source: 'local';
  /** Keys held at present. */
  readonly size: number;
}

const fallbacks = new WeakMap<Store, FallbackStore>();

/**
 * The memory store that decides while a store is unavailable, made when it is first needed. All limiters of that
 * store share it, so that limiters that count together still do. Its decisions have the source `local`.
 */
export function fallbackStore(store: Store): FallbackStore {
  let fallback = fallbacks.get(store);
  if (fallback === undefined) {
    let memory: MemoryStore | undefined;
    fallback = {
      source: 'local',
      perform: (requests: readonly StoreRequest[]) => (memory ??= memoryStore()).perform(requests),
      get size() {
        return memory?.size ?? 0;
      },
    };
    fallbacks.set(store, fallback);
  }
  return fallback;
}

/**
 * A limit with the share of it that this process allows while the store is unavailable: at least one unit of each
 * policy.
 *
 * @throws PolicyError when that share cannot be counted exactly.
 */
export function withFallback(limit: Limit, share: number): Limit {
  if (share === 1) return limit;
  const policies = limit.policies.map((named) => {
    try {
      const policy = named.algorithm.share(named.policy, share);
      return { ...named, policy, windowMs: named.algorithm.windowMs(policy) };
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/ \[\w+\]$/, '') : String(error);
      throw new PolicyError(
        'localShare',
        `localShare ${String(share)} of the policy ${shown(named.name)} cannot be counted: ${why}`,
        'SLUICE_OPTION_INVALID',
      );
    }
  });
  const { keySuffix, escalation } = limit;
  const fallback: Limit = { policies, keySuffix, ...(escalation === undefined ? {} : { escalation }) };
  return { ...limit, fallback: { ...fallback, fastPathEligible: isFastPathEligible(fallback) } };
}

/** A part as the fallback store counts it. */
export function fallbackPart(part: Part): Part {
  return part.limit.fallback === undefined ? part : { ...part, limit: part.limit.fallback };
}

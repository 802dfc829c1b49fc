import { PolicyError, shown } from '../errors.ts';
import { memoryStore, type MemoryStore } from './memory/memory-store.ts';
import { isPlainLimit, type Limit, type Part, type Store, type StoreRequest } from './store.ts';

/** What stands in for a store while it is away. */
export interface LocalStore extends Store {
  readonly source: 'local';
  /** Keys held at present. */
  readonly size: number;
}

const standIns = new WeakMap<Store, LocalStore>();

/**
 * The memory store that stands in for a store while it is away, made when it is first needed: one for all limiters of
 * that store, so that those which count together go on doing so. Its decisions say that they are local.
 */
export function localStore(store: Store): LocalStore {
  let standIn = standIns.get(store);
  if (standIn === undefined) {
    let memory: MemoryStore | undefined;
    standIn = {
      source: 'local',
      perform: (requests: readonly StoreRequest[]) => (memory ??= memoryStore()).perform(requests),
      get size() {
        return memory?.size ?? 0;
      },
    };
    standIns.set(store, standIn);
  }
  return standIn;
}

/**
 * A limit, with a share of it to be counted while this process stands in for the store: at least one unit of each
 * policy.
 *
 * @throws PolicyError when that share cannot be counted exactly.
 */
export function withStandIn(limit: Limit, share: number): Limit {
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
  const { scope, escalation } = limit;
  const standIn: Limit = { policies, scope, ...(escalation === undefined ? {} : { escalation }) };
  return { ...limit, standIn: { ...standIn, plain: isPlainLimit(standIn) } };
}

/** A part as the stand-in counts it. */
export function standInPart(part: Part): Part {
  return part.limit.standIn === undefined ? part : { ...part, limit: part.limit.standIn };
}

import type { Limit, Part, Store, StoreRequest } from './store.ts';
import { memoryStore, type MemoryStore } from './memory/memory-store.ts';

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

/** The same requests against a share of the limits: see `localShare`. */
export class LocalShare {
  readonly #share: number;
  readonly #limits = new WeakMap<Limit, Limit>();

  constructor(share: number) {
    this.#share = share;
  }

  /**
   * The share of a limit, at least one unit of each policy.
   *
   * @throws PolicyError when its numbers cannot be counted exactly any more.
   */
  limit(limit: Limit): Limit {
    if (this.#share === 1) return limit;
    let shared = this.#limits.get(limit);
    if (shared === undefined) {
      const policies = limit.policies.map((named) => {
        const policy = named.algorithm.share(named.policy, this.#share);
        return { ...named, policy, windowMs: named.algorithm.windowMs(policy) };
      });
      shared = { ...limit, policies };
      this.#limits.set(limit, shared);
    }
    return shared;
  }

  parts(parts: readonly Part[]): readonly Part[] {
    return this.#share === 1 ? parts : parts.map((part) => ({ ...part, limit: this.limit(part.limit) }));
  }
}

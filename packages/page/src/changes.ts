/** A change that an operator made. */
export interface PageChange {
  readonly atMs: number;
  /** Who: what `authorize` returned, the name of the login, or what the operator wrote. */
  readonly by: string;
  readonly action: 'block' | 'unblock' | 'reset' | 'set override' | 'end override';
  /** The key and its limiter, such as `ann of api`: a long key as its hash, and every key if keys are shown hashed. */
  readonly target: string;
  /** Such as `for 10m`, or the numbers before and after. */
  readonly detail: string;
  readonly reason: string;
}

const MAX_CHANGES = 100;

/** The changes that this process knows and those of others, each once, the last one first. */
export function mergeChanges(own: readonly PageChange[], others: readonly PageChange[]): readonly PageChange[] {
  const all = new Map(
    [...own, ...others].map((change) => [`${String(change.atMs)} ${change.action} ${change.target}`, change]),
  );
  return [...all.values()].toSorted((a, b) => b.atMs - a.atMs).slice(0, MAX_CHANGES);
}

import { PolicyError, shown } from '../errors.ts';
import { liveLimiters, remember, type LiveLimiter } from '../observe/live-limiters.ts';
import type { Store } from '../stores/store.ts';
import { warnOnce } from '../warnings.ts';

/**
 * Names are compared as header fields compare them: without regard to case.
 *
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` if another limiter of the store has the name, unless both set `shared`.
 */
export function checkNameIsFree({ name, store, shared }: LiveLimiter): void {
  const hasName = (other: LiveLimiter): boolean => other.name.toLowerCase() === name.toLowerCase();
  const others = liveLimiters().filter((other) => other.store === store && hasName(other));
  if (others.every((other) => shared && other.shared)) return;
  throw new PolicyError(
    'name',
    `this store already has a limiter named ${shown(name)}; give this one a name of its own, or write shared: true on both to share the budgets`,
    'SLUICE_LIMITER_NAME_TAKEN',
  );
}

/** Fewer limiters that were dropped may be those of tests. */
const MANY = 10;
let droppedCount = 0;

/** Lists a limiter. Warns if many are dropped and never closed whose counts are lost with them. */
export function useName(limiter: LiveLimiter, ownsMemory: boolean): void {
  remember(limiter, ownsMemory ? dropped.bind(undefined, limiter.name) : undefined);
}

function dropped(name: string): void {
  if (++droppedCount !== MANY) return;
  const what = `${String(MANY)} limiters with memory of their own, the last one named ${name}, were made, dropped and never closed`;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    `${what}: what they counted is lost. A limiter that is made for every request denies none. Make it once, outside the handler, and keep it.`,
  );
}

/** How many limiters have closed, and still hold slots in a store. */
const leaving = new WeakMap<Store, number>();

/** Keeps a store open until the returned function is called. */
export function stayOn(store: Store): () => void {
  leaving.set(store, (leaving.get(store) ?? 0) + 1);
  return () => void leaving.set(store, (leaving.get(store) ?? 0) - 1);
}

/** Whether any limiter uses a store. */
export function isInUse(store: Store): boolean {
  return (leaving.get(store) ?? 0) > 0 || liveLimiters().some((limiter) => limiter.store === store);
}

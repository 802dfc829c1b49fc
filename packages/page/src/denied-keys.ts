import type { LimitedKey } from './limits.ts';
import { addDenial, type Denial } from './shared/record.ts';

/** A key that was denied, and the policy that denied it. */
export interface DeniedKey extends LimitedKey {
  readonly policy: string;
  /** Those of the last hour, the last one last. */
  denials: Denial[];
}

const HOUR_MS = 3_600_000;
/** Keys that are always kept. */
const CAPACITY = 1_000;

/** The keys that were denied most in the last hour: up to twice the capacity, and then those denied more often. */
export class DeniedKeys {
  readonly #keys = new Map<string, DeniedKey>();

  /** @param makeKey - Makes what is kept of a key that is new, or comes back. */
  add(id: string, denial: Denial, makeKey: () => DeniedKey): void {
    let key = this.#keys.get(id);
    if (key === undefined) {
      if (this.#keys.size === 2 * CAPACITY) this.#keep(CAPACITY);
      this.#keys.set(id, (key = makeKey()));
    }
    addDenial(key.denials, denial);
  }

  /** The keys with this subject. */
  find(subject: string): readonly DeniedKey[] {
    return [...this.#keys.values()].filter((key) => key.subject === subject);
  }

  /** Those denied most, the most first. */
  rank(max: number): readonly DeniedKey[] {
    const ranked = this.#rank().slice(0, max);
    return ranked.map(([, key]) => key);
  }

  /** Forgets what is more than an hour ago. */
  expire(nowMs: number): void {
    for (const [id, key] of this.#keys) {
      key.denials = key.denials.filter(({ atMs }) => atMs > nowMs - HOUR_MS);
      if (key.denials.length === 0) this.#keys.delete(id);
    }
  }

  #keep(max: number): void {
    for (const [id] of this.#rank().slice(max)) this.#keys.delete(id);
  }

  #rank(): readonly (readonly [id: string, key: DeniedKey, count: number])[] {
    const all = [...this.#keys].map(([id, key]) => [id, key, countOf(key)] as const);
    return all.toSorted(([, , a], [, , b]) => b - a);
  }
}

/** How often a key was denied in the last hour, at least. */
export function countOf({ denials }: Pick<DeniedKey, 'denials'>): number {
  return denials.reduce((sum, { count }) => sum + count, 0);
}

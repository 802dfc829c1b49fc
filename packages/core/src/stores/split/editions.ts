import type { NamedPolicy } from '../../policy.ts';
import { AllEarlier } from '../carry-over.ts';
import type { Edition } from '../store.ts';

/** Shares differ by their numbers, so there are few of them; a state of one that is forgotten counts as used up. */
const MOST = 256;

/**
 * The shares of one scope, numbered. Debts of buckets are kept as a time, so that another rate would make other units of
 * them: a state says which share wrote it, and is converted in units, from whichever share into whichever other.
 */
export class Editions {
  readonly #all = new AllEarlier();
  readonly #versions = new Map<string, number>();
  #latest = 0;

  /** The edition of these policies: the same again while their numbers are. */
  of(policies: readonly NamedPolicy[]): Edition {
    const numbers = policies.map(({ algorithm, policy }) => algorithm.numbers(policy).join(' ')).join(',');
    let version = this.#versions.get(numbers);
    if (version === undefined) {
      version = ++this.#latest;
      this.#versions.set(numbers, version);
      this.#all.set(version, { policies, carryOver: 'keep' });
      this.#forget();
    }
    return { version, earlier: this.#all };
  }

  #forget(): void {
    if (this.#versions.size <= MOST) return;
    for (const [numbers, version] of this.#versions) {
      this.#versions.delete(numbers);
      this.#all.delete(version);
      return;
    }
  }
}

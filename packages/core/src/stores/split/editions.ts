import type { NamedPolicy } from '../../policy.ts';
import type { EarlierEdition, Edition } from '../store.ts';

/** Shares differ by their numbers, so there are few of them; a state older than so many changes counts as used up. */
const MOST = 256;

class Earlier extends Map<number, EarlierEdition | 'unknown'> {
  override get(version: number): EarlierEdition | 'unknown' {
    return super.get(version) ?? 'unknown';
  }
}

/**
 * The shares of one scope, numbered. Debts of buckets are kept as a time, so that another rate would make other units of
 * them: a state says which share wrote it, and is converted in units.
 */
export class Editions {
  readonly #earlier = new Earlier();
  #version = 0;
  #numbers = '';
  #policies: readonly NamedPolicy[] = [];

  /** The edition of these policies, a new one when their numbers are others than before. */
  of(policies: readonly NamedPolicy[]): Edition {
    const numbers = policies.map(({ algorithm, policy }) => algorithm.numbers(policy).join(' ')).join(',');
    if (numbers !== this.#numbers || this.#version === 0) {
      if (this.#version > 0) this.#earlier.set(this.#version, { policies: this.#policies, carryOver: 'keep' });
      this.#earlier.delete(this.#version - MOST);
      this.#version++;
      this.#numbers = numbers;
      this.#policies = policies;
    }
    return { version: this.#version, earlier: this.#earlier };
  }

  /** Whether these are the latest numbers. */
  isLatest(edition: Edition | undefined): boolean {
    return edition?.version === this.#version;
  }
}

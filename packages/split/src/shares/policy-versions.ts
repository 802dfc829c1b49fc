import type { NamedPolicy, PolicyVersion } from '@sluice/core';
import { AllEarlier } from '@sluice/core/spi';

/** Shares are told apart by their numbers, so there are few. A state of a share that was dropped counts as used up. */
const MOST = 256;

/**
 * The shares of one key suffix, numbered. Buckets store their debt as a time, which another rate would turn into other
 * units. So each state names the share that wrote it, and is converted in units from any share to any other.
 */
export class PolicyVersions {
  readonly #all = new AllEarlier();
  readonly #versions = new Map<string, number>();
  #latest = 0;

  /** The version of these policies. Policies with equal numbers have the same version. */
  versionOf(policies: readonly NamedPolicy[]): PolicyVersion {
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

import type { EarlierVersion, Limit, NamedPolicy, PolicyVersion } from '@sluice/old-core';
import { AllEarlier } from '@sluice/old-core/spi';
import { statesDependOnShare } from './split-policy.ts';

/** Shares are told apart by their numbers, so there are few. A state of a share that was dropped counts as used up. */
const MOST = 256;

/** Versions of which those before the last reset have nothing that is read. */
class Earlier extends AllEarlier {
  resetBefore = 0;

  override get(version: number): EarlierVersion | 'unknown' | undefined {
    return version < this.resetBefore ? { policies: [], carryOver: 'reset' } : super.get(version);
  }
}

/**
 * The shares of one key suffix, numbered. Buckets store their debt as a time, which another rate would turn into other
 * units, and a limit that changes may become one of another kind. So each state names the share that wrote it, and is
 * converted in units from any share to any other.
 */
export class PolicyVersions {
  readonly #all = new Earlier();
  readonly #versions = new Map<string, number>();
  #latest = 0;
  /** The newest limit, where it changes. */
  #newest: Limit | undefined;
  /** The version of the limit whose change dropped all states. */
  #resetVersion = 0;

  /** A limit is about to be counted. If it is a change that drops all states, they are dropped. */
  follow(limit: Limit): void {
    const version = limit.policyVersion?.version ?? 0;
    const before = this.#newest?.policyVersion?.version;
    if (before !== undefined && version <= before) return;
    this.#newest = limit;
    if (before === undefined) return;
    // A limit lists only the version before it; that of its fallback lists all.
    const earlier = (limit.fallback ?? limit).policyVersion?.earlier.get(before);
    if (typeof earlier !== 'object' || earlier.carryOver !== 'reset') return;
    this.#all.resetBefore = this.#latest + 1;
    this.#versions.clear();
    this.#resetVersion = version;
  }

  /** The limit that settles what was decided by this one: the newest, where it has changed since. */
  settling(limit: Limit): Limit {
    const { policyVersion } = limit;
    if (policyVersion === undefined || this.#newest?.policyVersion === undefined) return limit;
    return policyVersion.version < this.#newest.policyVersion.version ? this.#newest : limit;
  }

  /** Whether what was decided by this limit has been dropped since. */
  isForgotten({ policyVersion }: Limit): boolean {
    return policyVersion !== undefined && policyVersion.version < this.#resetVersion;
  }

  /**
   * The version of these policies. Those whose states mean the same have the same version.
   *
   * @param wholes - The policies whose shares they are.
   */
  versionOf(policies: readonly NamedPolicy[], wholes: readonly NamedPolicy[]): PolicyVersion {
    const numbers = policies.map((policy, j) => meaningOf(policy, wholes[j] as NamedPolicy)).join(',');
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

/** What states depend on: the algorithm and its numbers, without the units where these do not matter. */
function meaningOf({ algorithm, policy }: NamedPolicy, whole: NamedPolicy): string {
  const numbers = algorithm.numbers(policy);
  return [algorithm.name, ...(statesDependOnShare(whole) ? numbers : numbers.slice(1))].join(' ');
}

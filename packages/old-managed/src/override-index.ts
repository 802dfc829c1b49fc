import type { NamedPolicy } from '@sluice/old-core';
import { messageOf, warnOnce, withinDeadline } from '@sluice/old-core/spi';
import type { OverridePage, OverrideSource } from './policy-source.ts';
import { readOverride, type Override } from './overrides/override-record.ts';
import { PolicyOverrides } from './overrides/policy-overrides.ts';
import { SourceClock } from './overrides/source-clock.ts';
import { readRecordName, recordNameOf } from './overrides/target.ts';

/** How long one page of a source may take. */
const LONGEST_PAGE_MS = 2000;
/** How many different overrides, and policies of overrides, are remembered, so that equal ones are one object. */
const MOST_SHARED = 1000;

/** The overrides of all policies of a source, in memory. */
export class OverrideIndex {
  readonly clock: SourceClock = new SourceClock();
  readonly #ofPolicies = new Map<string, PolicyOverrides>();
  /** By their text: targets with the same numbers share one. */
  readonly #overrides = new Map<string, Override>();
  readonly #policies = new Map<string, NamedPolicy>();
  #changes = 0;
  #cursor: string | undefined;
  /** The names of a reading from the start that is not yet complete, if some are known already. */
  #seen: Set<string> | undefined;

  /** Grows with every override that is new or different, also while `follow` goes on. */
  get changes(): number {
    return this.#changes;
  }

  /** Undefined where a policy has none. */
  of(policyName: string): PolicyOverrides | undefined {
    return this.#ofPolicies.get(policyName);
  }

  /**
   * Reads what has changed at a source. What was read before a failure stays, and the next call goes on from there.
   *
   * @throws (rejects) the error of the source.
   */
  async follow(source: OverrideSource): Promise<void> {
    let page: OverridePage;
    do {
      page = await withinDeadline(source.changes(this.#cursor), LONGEST_PAGE_MS, { abandoned: false }, false);
      this.#begin(page);
      for (const [name, record] of page.records) this.adopt(name, record);
      this.#cursor = page.cursor;
      if (page.nowMs !== undefined) this.clock.saw(page.nowMs);
    } while (page.hasMore);
    this.#end();
  }

  /** Takes over a record. One that cannot be read, and one that is older than the known one, changes nothing. */
  adopt(name: string, record: unknown): void {
    const target = readRecordName(name);
    if (target === undefined) return;
    this.#seen?.add(name);
    try {
      const overrides = this.#ofPolicies.get(target.policy) ?? new PolicyOverrides();
      const before = overrides.get(target);
      const override = this.#sharedOf(readOverride(target.policy, record));
      if (before !== undefined && before.version >= override.version) {
        if (before.version > override.version) warnOfLostOverride(target.policy);
        return;
      }
      overrides.set(target, override);
      this.#ofPolicies.set(target.policy, overrides);
      this.#changes++;
    } catch (error) {
      warnOnce(
        'SLUICE_OVERRIDE_UNUSABLE',
        `the override ${JSON.stringify(name)} is not in force: ${messageOf(error)}. Put it again, or remove it.`,
        name.slice(0, 200),
      );
    }
  }

  /** The records of a source have been read without these names: what is known of others stays. */
  warnOfLost(names: ReadonlySet<string>): void {
    for (const [policyName, overrides] of this.#ofPolicies) {
      for (const [target, override] of overrides.entries()) {
        if (override.named === undefined || names.has(recordNameOf(policyName, target))) continue;
        warnOfLostOverride(policyName);
        break;
      }
    }
  }

  #begin({ isFromStart }: OverridePage): void {
    if (isFromStart && this.#ofPolicies.size > 0) this.#seen = new Set();
  }

  #end(): void {
    if (this.#seen !== undefined) this.warnOfLost(this.#seen);
    this.#seen = undefined;
  }

  #sharedOf({ version, named, untilMs, earlier }: Override): Override {
    const numbers = JSON.stringify([named?.name, named?.policy]);
    const text = `${numbers} ${String(version)} ${String(untilMs)} ${JSON.stringify(earlier)}`;
    return shared(this.#overrides, text, () => ({
      version,
      named: named && shared(this.#policies, numbers, () => named),
      untilMs,
      earlier: earlier.length === 0 ? NONE : earlier,
    }));
  }
}

const NONE: readonly never[] = Object.freeze([]);

function shared<T>(known: Map<string, T>, text: string, made: () => T): T {
  let found = known.get(text);
  if (found !== undefined) return found;
  found = made();
  if (known.size === MOST_SHARED) known.clear();
  known.set(text, found);
  return found;
}

function warnOfLostOverride(policyName: string): void {
  warnOnce(
    'SLUICE_POLICIES_LOST',
    `overrides of the managed policy ${policyName} are missing in their source without a removal, or the source has older versions of them. ` +
      'This process keeps its last known ones; put them again, so that processes that start now have them too.',
    `overrides of ${policyName}`,
  );
}

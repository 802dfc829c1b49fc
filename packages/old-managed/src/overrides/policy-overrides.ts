import type { NamedPolicy } from '@sluice/old-core';
import { endVersionOf, type Override } from './override-record.ts';
import { ByTarget } from './by-target.ts';
import type { Target } from './target.ts';

/** How many sets of numbers are remembered: those of a few plans, usually. */
const MOST_REMEMBERED = 1000;

/** The overrides of one policy. Those that have ended stay, because their versions are in states. */
export class PolicyOverrides extends ByTarget<Override> {
  #latestVersion = 0;
  /** The latest version that an end may bring about, but for the instants of ends. */
  #latestEnd = 0;
  /** The latest version of each set of numbers in force, by their text. */
  readonly #versions = new Map<string, number>();

  /** No later version of a subject has been brought about until an instant: by an override, or by the end of one. */
  latestVersionAt(nowMs: number): number {
    const endedMs = this.#latestEnd === 0 ? 0 : Math.floor(nowMs);
    return Math.max(this.#latestVersion, this.#latestEnd, endedMs);
  }

  /** The latest version of an override for a key with these numbers: {@link numbersOf}. */
  versionOf(numbers: string): number | undefined {
    return this.#versions.get(numbers);
  }

  override set(target: Target, override: Override): void {
    super.set(target, override);
    if (target.kind === 'key' && override.named !== undefined) {
      this.#remember(numbersOf(override.named), override.version);
    }
    this.#latestVersion = Math.max(this.#latestVersion, override.version);
    if (override.untilMs !== Infinity) this.#latestEnd = Math.max(this.#latestEnd, override.version + 1);
  }

  #remember(numbers: string, version: number): void {
    if (this.#versions.size === MOST_REMEMBERED) this.#versions.clear();
    this.#versions.set(numbers, Math.max(version, this.#versions.get(numbers) ?? 0));
  }
}

/** What distinguishes the numbers of two policies. */
export function numbersOf({ algorithm, policy }: NamedPolicy): string {
  return JSON.stringify([algorithm.name, algorithm.numbers(policy)]);
}

/** Which of the overrides of a subject is in force. */
export interface InForce {
  /** Undefined: none. */
  readonly override: Override | undefined;
  /** The latest version at which one that goes before it has ended; 0 without any. */
  readonly endedAt: number;
}

/** @param hasEnded - Judges an override that was not removed, by its `until`. */
export function inForce(overrides: readonly Override[], hasEnded: (override: Override) => boolean): InForce {
  let endedAt = 0;
  for (const override of overrides) {
    if (override.named !== undefined && !hasEnded(override)) return { override, endedAt };
    endedAt = Math.max(endedAt, override.named === undefined ? override.version : endVersionOf(override));
  }
  return { override: undefined, endedAt };
}

import type { NamedPolicy } from '@sluice/core';
import { endVersionOf, type Override } from './override-record.ts';
import type { Target } from './target.ts';

/** How many sets of numbers are remembered: those of a few plans, usually. */
const MOST_REMEMBERED = 1000;

/**
 * The overrides of one policy. A whole key goes before any prefix, and a longer prefix before a shorter one. Those that
 * have ended stay, because their versions are in states.
 */
export class PolicyOverrides {
  readonly #ofKeys = new Map<string, Override>();
  readonly #ofPrefixes = new Map<string, Override>();
  /** The distinct lengths of prefixes, the longest first. */
  #lengths: readonly number[] = [];
  #latestVersion = 0;
  /** The latest version of each set of numbers in force, by their text. */
  readonly #versions = new Map<string, number>();

  get size(): number {
    return this.#ofKeys.size + this.#ofPrefixes.size;
  }

  /** No version of an override is later; the ends of those that end are not counted. */
  get latestVersion(): number {
    return this.#latestVersion;
  }

  get({ kind, text }: Target): Override | undefined {
    return this.#of(kind).get(text);
  }

  /** The latest version of an override for a key with these numbers: {@link numbersOf}. */
  versionOf(numbers: string): number | undefined {
    return this.#versions.get(numbers);
  }

  set({ kind, text }: Target, override: Override): void {
    this.#of(kind).set(text, override);
    if (kind === 'key' && override.named !== undefined) this.#remember(numbersOf(override.named), override.version);
    this.#latestVersion = Math.max(this.#latestVersion, override.version);
    if (kind === 'prefix' && !this.#lengths.includes(text.length)) {
      this.#lengths = [...this.#lengths, text.length].sort((a, b) => b - a);
    }
  }

  /** Of all that concern a subject, the one that goes before the others, even if it has ended. */
  first(subject: string): Override | undefined {
    return this.#ofKeys.get(subject) ?? (this.#lengths.length === 0 ? undefined : this.#byPrefix(subject));
  }

  /** All that concern a subject, in their order. */
  all(subject: string): readonly Override[] {
    const own = this.#ofKeys.get(subject);
    const found = own === undefined ? [] : [own];
    if (isHash(subject)) return found;
    for (const length of this.#lengths) {
      const override = length <= subject.length ? this.#ofPrefixes.get(subject.slice(0, length)) : undefined;
      if (override !== undefined) found.push(override);
    }
    return found;
  }

  *entries(): Generator<readonly [Target, Override]> {
    for (const [text, override] of this.#ofKeys) yield [{ kind: 'key', text }, override];
    for (const [text, override] of this.#ofPrefixes) yield [{ kind: 'prefix', text }, override];
  }

  /** One look-up per distinct length. */
  #byPrefix(subject: string): Override | undefined {
    if (isHash(subject)) return undefined;
    for (const length of this.#lengths) {
      const override = length <= subject.length ? this.#ofPrefixes.get(subject.slice(0, length)) : undefined;
      if (override !== undefined) return override;
    }
    return undefined;
  }

  #remember(numbers: string, version: number): void {
    if (this.#versions.size === MOST_REMEMBERED) this.#versions.clear();
    this.#versions.set(numbers, Math.max(version, this.#versions.get(numbers) ?? 0));
  }

  #of(kind: Target['kind']): Map<string, Override> {
    return kind === 'key' ? this.#ofKeys : this.#ofPrefixes;
  }
}

/** What distinguishes the numbers of two policies. */
export function numbersOf({ algorithm, policy }: NamedPolicy): string {
  return JSON.stringify([algorithm.name, algorithm.numbers(policy)]);
}

/** A long key is known by its hash alone, so that only an override of the whole key concerns it. */
function isHash(subject: string): boolean {
  return subject.startsWith('#');
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

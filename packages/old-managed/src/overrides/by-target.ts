import { KeyTable } from './key-table.ts';
import type { Target } from './target.ts';

/**
 * Values of keys and of prefixes of keys. A whole key goes before any prefix, and a longer prefix before a shorter one.
 * Finding one takes a look-up of the key, and one for each distinct length of prefixes.
 */
export class ByTarget<Value> {
  readonly #ofKeys = new KeyTable<Value>();
  readonly #ofPrefixes = new Map<string, Value>();
  /** The distinct lengths of prefixes, the longest first. */
  #lengths: readonly number[] = [];

  get size(): number {
    return this.#ofKeys.size + this.#ofPrefixes.size;
  }

  get({ kind, text }: Target): Value | undefined {
    return this.#of(kind).get(text);
  }

  set({ kind, text }: Target, value: Value): void {
    if (kind === 'key') {
      this.#ofKeys.set(text, value);
      return;
    }
    this.#ofPrefixes.set(text, value);
    if (!this.#lengths.includes(text.length)) {
      this.#lengths = [...this.#lengths, text.length].sort((a, b) => b - a);
    }
  }

  /** The value that takes precedence for a subject. */
  first(subject: string): Value | undefined {
    return this.#ofKeys.get(subject) ?? (this.#lengths.length === 0 ? undefined : this.#byPrefix(subject));
  }

  /** All that concern a subject, in their order. */
  all(subject: string): readonly Value[] {
    const own = this.#ofKeys.get(subject);
    const found = own === undefined ? [] : [own];
    if (isHash(subject)) return found;
    for (const length of this.#lengths) {
      const value = length <= subject.length ? this.#ofPrefixes.get(subject.slice(0, length)) : undefined;
      if (value !== undefined) found.push(value);
    }
    return found;
  }

  /** The value of a target, and those of prefixes that it begins with, in their order. */
  concerning({ kind, text }: Target): readonly (readonly [Target, Value])[] {
    const lengths = isHash(text) ? [] : this.#lengths.filter((length) => length <= text.length);
    const prefixes = lengths.map((length): Target => ({ kind: 'prefix', text: text.slice(0, length) }));
    const own: readonly Target[] = kind === 'key' ? [{ kind, text }] : [];
    return [...own, ...prefixes].flatMap((target) => {
      const value = this.get(target);
      return value === undefined ? [] : [[target, value] as const];
    });
  }

  *entries(): Generator<readonly [Target, Value]> {
    for (const [text, value] of this.#ofKeys.entries()) yield [{ kind: 'key', text }, value];
    for (const [text, value] of this.#ofPrefixes) yield [{ kind: 'prefix', text }, value];
  }

  #byPrefix(subject: string): Value | undefined {
    if (isHash(subject)) return undefined;
    for (const length of this.#lengths) {
      const value = length <= subject.length ? this.#ofPrefixes.get(subject.slice(0, length)) : undefined;
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #of(kind: Target['kind']): Pick<KeyTable<Value>, 'get'> {
    return kind === 'key' ? this.#ofKeys : this.#ofPrefixes;
  }
}

/** A long key is known by its hash alone, so that only what is of the whole key concerns it. */
function isHash(subject: string): boolean {
  return subject.startsWith('#');
}

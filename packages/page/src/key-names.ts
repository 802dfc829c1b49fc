import { createHmac, randomBytes } from 'node:crypto';
import type { CountedKey } from './recorder.ts';

/** Keys that were shown last, so that a click finds them. */
const MOST_SHOWN = 2_000;

/** How keys are shown: as they are, or as a hash that only this process can make. Each has an id for actions. */
export class KeyNames {
  readonly isHashed: boolean;
  readonly #secret = randomBytes(16);
  readonly #shown = new Map<string, CountedKey>();

  constructor(isHashed: boolean) {
    this.isHashed = isHashed;
  }

  /** The text of a key: its beginning, if it is long. */
  textOf({ key, length, subject }: Pick<CountedKey, 'key' | 'length' | 'subject'>): string {
    if (this.isHashed) return `#${this.#hash(subject)}`;
    return key.length < length ? `${key}… (${String(length)} characters)` : key;
  }

  /** An id under which {@link find} finds the key for a while. */
  idOf(key: CountedKey): string {
    const id = this.#hash(`${key.subject}${key.limit.keySuffix}`);
    this.#shown.delete(id);
    this.#shown.set(id, key);
    if (this.#shown.size > MOST_SHOWN) this.#shown.delete(this.#shown.keys().next().value as string);
    return id;
  }

  find(id: string): CountedKey | undefined {
    return this.#shown.get(id);
  }

  #hash(text: string): string {
    return createHmac('sha256', this.#secret).update(text, 'utf16le').digest('base64url').slice(0, 16);
  }
}

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { PageProblem } from './exchange.ts';
import { textOf, type Fields } from './fields.ts';
import type { KnownLimit } from './limits.ts';
import { keyUnder, type CountedKey } from './recorder.ts';

/** Keys that were shown last, so that a click finds them. */
const MOST_SHOWN = 2_000;
const LONGEST_ID = 4_096;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What an id holds, for a process that has not shown the key itself. */
type Sealed = readonly [limiter: string, keySuffix: string, subject: string, policy: string];

/**
 * How keys are shown: as they are, or as a hash. Each has an id for actions, which only processes with the same secret
 * can make and read, and which does not show the key.
 */
export class KeyNames {
  readonly isHashed: boolean;
  readonly #secret: Buffer;
  readonly #sealing: Buffer;
  readonly #limits: () => readonly KnownLimit[];
  readonly #shown = new Map<string, CountedKey>();
  /** Those of them that other processes have shown. */
  readonly #opened = new WeakSet<CountedKey>();

  /**
   * @param secret - That of all processes behind one address. Undefined: a random one.
   * @param limits - The limits that an id may be of.
   */
  constructor(isHashed: boolean, secret: string | undefined, limits: () => readonly KnownLimit[]) {
    this.isHashed = isHashed;
    const given = secret ?? randomBytes(32);
    this.#secret = createHmac('sha256', given).update('digests of keys').digest();
    this.#sealing = createHmac('sha256', given).update('ids of keys').digest();
    this.#limits = limits;
  }

  /** The text of a key: its beginning, if it is long. */
  textOf({ key, length, subject }: Pick<CountedKey, 'key' | 'length' | 'subject'>): string {
    if (this.isHashed) return `#${this.#digest(subject).toString('base64url').slice(0, 16)}`;
    return key.length < length ? `${key}… (${String(length)} characters)` : key;
  }

  /** As it is given to other processes: of a long key nothing but its hash, as the store has it. */
  sharedTextOf(key: Pick<CountedKey, 'key' | 'length' | 'subject'>): string {
    return !this.isHashed && key.key.length < key.length ? key.subject : this.textOf(key);
  }

  /** An id under which {@link find} finds the key. */
  idOf(key: CountedKey): string {
    const { core, limit, subject, policy } = key;
    const id = this.#seal([core.name, limit.keySuffix, subject, policy]);
    this.#remember(id, key);
    return id;
  }

  /**
   * The key that the field `id` names.
   *
   * @throws PageProblem 400 without an id, 404 for one that is not known.
   */
  named(fields: Fields): CountedKey {
    const key = this.find(textOf(fields, 'id', LONGEST_ID));
    if (key !== undefined) return key;
    throw new PageProblem(404, 'this key was not shown lately: look it up again; nothing was done');
  }

  /** The key of an id that this process, or one with the same secret, has made. */
  find(id: string): CountedKey | undefined {
    const shown = this.#shown.get(id);
    if (shown !== undefined && !this.#isReplaced(shown)) return shown;
    const [name, keySuffix, subject, policy] = this.#open(id) ?? [];
    if (subject === undefined || policy === undefined) return undefined;
    const of = this.#limits().find(({ core, limit }) => core.name === name && limit.keySuffix === keySuffix);
    if (of === undefined) return undefined;
    const key = keyUnder(of, { policy, subject, key: subject, length: subject.length });
    this.#opened.add(key);
    this.#remember(id, key);
    return key;
  }

  /** Whether the limit of a key that was opened is not the one that decides now: a service has read its limits again. */
  #isReplaced(key: CountedKey): boolean {
    return this.#opened.has(key) && !key.core.limits.known.includes(key.limit);
  }

  #remember(id: string, key: CountedKey): void {
    this.#shown.delete(id);
    this.#shown.set(id, key);
    if (this.#shown.size > MOST_SHOWN) this.#shown.delete(this.#shown.keys().next().value as string);
  }

  /** The same key has the same id: the nonce is a digest of it. */
  #seal(sealed: Sealed): string {
    const text = JSON.stringify(sealed);
    const nonce = this.#digest(text).subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealing, nonce);
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  #open(id: string): Sealed | undefined {
    const bytes = Buffer.from(id, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#sealing, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString()) as Sealed;
    } catch {
      return undefined; // made with another secret, or changed
    }
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text, 'utf16le').digest();
  }
}

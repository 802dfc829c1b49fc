import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { PageProblem } from './exchange.ts';
import { limitId, type KnownLimit, type LimitedKey } from './limits.ts';

/** Ids hold keys, and can be longer than they are. */
export const MAX_ID = 8_192;
const MAX_SHOWN = 256;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key under a limit, as processes name it. `key`: unless it is the subject. */
export type KeyRef = readonly [limiter: string, limit: string, subject: string, key?: string, length?: number];

/**
 * How keys are shown: as they are, or as a hash. Each has an id for actions, which only processes with the same secret
 * can make and read, and which does not show the key.
 */
export class KeyNames {
  readonly #isHashed: boolean;
  readonly #secret: Buffer;
  readonly #find: (subject: string) => readonly KnownLimit[];

  /**
   * @param secret - That of all processes behind one address. Undefined: a random one.
   * @param find - The limits that a key with this subject may be under, the likely ones first.
   */
  constructor(isHashed: boolean, secret: string | undefined, find: (subject: string) => readonly KnownLimit[]) {
    this.#isHashed = isHashed;
    this.#secret = createHmac('sha256', secret ?? randomBytes(32))
      .update('keys of a page')
      .digest();
    this.#find = find;
  }

  /** The text of a key: its beginning, if it is long. */
  show({ key, length, subject }: Pick<LimitedKey, 'key' | 'length' | 'subject'>): string {
    if (this.#isHashed) return `#${this.#digest(subject).toString('base64url').slice(0, 16)}`;
    return length > MAX_SHOWN ? `${key.slice(0, MAX_SHOWN)}… (${String(length)} characters)` : key;
  }

  /** The text of a key in records of changes, which others read, too: a long one may be a token, and is its hash. */
  record(key: LimitedKey): string {
    return `${key.length > MAX_SHOWN && !this.#isHashed ? key.subject : this.show(key)} of ${key.core.name}`;
  }

  /** A text that another process has recorded, as this one may show it. */
  showRecorded(text: string): string {
    return !this.#isHashed || /^#[\w-]{16} of /.test(text) ? text : 'a key';
  }

  /** The id of a key: the same for the same key, because the nonce is a digest of it. */
  idOf({ core, limit, subject, key, length }: LimitedKey): string {
    const ref = [core.name, limitId(core, limit), subject, ...(key === subject ? [] : [key, length])];
    const text = JSON.stringify(ref);
    const nonce = this.#digest(text).subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#secret, nonce);
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /**
   * The key of an id that this process, or one with the same secret, has made.
   *
   * @throws PageProblem 404 for any other text.
   */
  open(id: string): LimitedKey {
    const ref = this.#unseal(Buffer.from(id, 'base64url'));
    const key = ref && this.find(ref);
    if (key !== undefined) return key;
    throw new PageProblem(404, 'this key was not shown lately: look it up again; nothing was done');
  }

  /** The key that processes name so; undefined if this one does not know its limit. */
  find([limiter, limit, subject, key = subject, length = key.length]: KeyRef): LimitedKey | undefined {
    const isIt = (one: KnownLimit): boolean => one.core.name === limiter && limitId(one.core, one.limit) === limit;
    const known = this.#find(subject).find(isIt);
    return known && { core: known.core, limit: known.limit, isUnsure: known.isUnsure, subject, key, length };
  }

  #unseal(bytes: Buffer): KeyRef | undefined {
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#secret, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString()) as KeyRef;
    } catch {
      return undefined; // made with another secret, or changed
    }
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#secret).update(text, 'utf16le').digest();
  }
}

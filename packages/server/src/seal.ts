import { createHmac, timingSafeEqual } from 'node:crypto';

const SIGNATURE_BYTES = 16;

/**
 * Signs data that clients keep for the service between two calls, so that no process has to remember it: any process
 * with the same key can open it, and no client can create or change it.
 */
export class Seal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param kind - Its purpose. Data of another kind does not open. */
  close(kind: string, content: unknown): string {
    const text = Buffer.from(JSON.stringify([kind, content])).toString('base64url');
    return `${text}.${this.#sign(text).toString('base64url')}`;
  }

  /** The sealed content; undefined for anything else. */
  open(kind: string, sealed: string): unknown {
    const [text = '', signature = '', ...rest] = sealed.split('.');
    const given = Buffer.from(signature, 'base64url');
    if (rest.length > 0 || given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, this.#sign(text))) {
      return undefined;
    }
    const [own, content] = JSON.parse(Buffer.from(text, 'base64url').toString()) as readonly unknown[];
    return own === kind ? content : undefined;
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, SIGNATURE_BYTES);
  }
}

import { createHmac, timingSafeEqual } from 'node:crypto';

const SIGNATURE_BYTES = 16;

/**
 * A text that a client keeps for the service between two calls, and that it cannot make or change: any process with the
 * same key opens it, so that none has to remember it.
 */
export class Seal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param kind - What it is for. Text of another kind does not open. */
  close(kind: string, content: unknown): string {
    const text = Buffer.from(JSON.stringify([kind, content])).toString('base64url');
    return `${text}.${this.#signatureOf(text).toString('base64url')}`;
  }

  /**
   * @param isTrusted - Whether the caller may do what the text allows in any case: then the signature is not needed.
   * @returns What was closed; undefined for anything else.
   */
  open(kind: string, sealed: string, isTrusted: boolean): unknown {
    const [text = '', signature = '', ...rest] = sealed.split('.');
    const given = Buffer.from(signature, 'base64url');
    if (rest.length > 0 || given.length !== SIGNATURE_BYTES) return undefined;
    if (!timingSafeEqual(given, this.#signatureOf(text)) && !isTrusted) return undefined;
    try {
      const opened = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
      return Array.isArray(opened) && opened[0] === kind ? (opened[1] as unknown) : undefined;
    } catch {
      return undefined;
    }
  }

  #signatureOf(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, SIGNATURE_BYTES);
  }
}

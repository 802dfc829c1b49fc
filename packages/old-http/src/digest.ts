import { createHash } from 'node:crypto';

/** The SHA-256 of a secret. Digests have one length, as a comparison in constant time requires. */
export function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

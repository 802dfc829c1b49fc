import type { IncomingMessage } from 'node:http';
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Seal } from './seal.ts';

/** Where a request came in. */
export interface Entrance {
  /** The admin listener, or one that only this machine reaches: loopback or a Unix socket. */
  readonly isPrivate: boolean;
}

/** Where a request over HTTP came in. A page reaches what its browser reaches, such as the loopback: it has the rights of a stranger. */
export function entranceOf({ headers }: IncomingMessage, { isPrivate }: Entrance): Entrance {
  return { isPrivate: isPrivate && headers.origin === undefined };
}

/** Decides who may refund, charge, reset, block, unblock, and read metrics: callers that could raise limits, or learn of them. */
export class Access {
  readonly #token: Buffer | undefined;
  /** Signs what clients keep for the service. Processes with one token share it; without a token each has its own. */
  readonly seal: Seal;

  /** @param token - The secret that callers send as `Authorization: Bearer TOKEN`. Undefined: no caller has one. */
  constructor(token: string | undefined) {
    this.#token = token === undefined ? undefined : digest(token);
    this.seal = new Seal(
      createHmac('sha256', this.#token ?? randomBytes(32))
        .update('seal')
        .digest(),
    );
  }

  /** @param authorization - The field `authorization` of the request. */
  allows({ isPrivate }: Entrance, authorization: string | undefined): boolean {
    if (isPrivate) return true;
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    return given !== undefined && this.#token !== undefined && timingSafeEqual(digest(given), this.#token);
  }
}

/** Digests have one length, as the comparison in constant time requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Seal } from './seal.ts';
import { RequestProblem } from './transport/request-problem.ts';

/** Where a request came in. */
export interface Entrance {
  /** Whether only this machine can reach it (loopback). */
  readonly isPrivate: boolean;
}

/**
 * Decides who may refund, charge, reset, block, unblock, and read metrics: callers that could raise limits, or learn
 * about them.
 */
export class Access {
  readonly #token: Buffer | undefined;
  /** Signs what clients keep for the service. Processes with the same token share it. */
  readonly seal: Seal;

  /**
   * @param token - The secret that callers send as `Authorization: Bearer TOKEN`. Undefined: callers have none.
   * @param secret - Used to sign if there is no token. Default: a random one for this process.
   */
  constructor(token: string | undefined, secret?: string) {
    this.#token = token === undefined ? undefined : digest(token);
    const key = createHmac('sha256', this.#token ?? secret ?? randomBytes(32));
    this.seal = new Seal(key.update('seal').digest());
  }

  /** @param authorization - The field `authorization` of the request. */
  allows({ isPrivate }: Entrance, authorization: string | undefined): boolean {
    if (isPrivate) return true;
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    return given !== undefined && this.#token !== undefined && timingSafeEqual(digest(given), this.#token);
  }

  /**
   * @param needsRights - Whether the caller needs a private listener, or the token.
   * @throws RequestProblem 403 for a request of a web page, and 401 for one without rights.
   */
  check(request: IncomingMessage, entrance: Entrance, needsRights: boolean): void {
    const problem = this.#problemOfPage(request, entrance);
    if (problem !== undefined) throw new RequestProblem(403, `${problem}; nothing was done`);
    if (!needsRights || this.allows(entrance, request.headers.authorization)) return;
    const what = 'needs the header field Authorization: Bearer TOKEN, with the token of the service';
    const path = request.url?.replace(/\?.*$/s, '') ?? '';
    throw new RequestProblem(401, `${path} ${what}; nothing was done`, {}, { 'www-authenticate': 'Bearer' });
  }

  /**
   * Why a request is not served on a private listener: a web page can reach whatever its browser can, such as the
   * loopback, even under the page's own name (DNS rebinding). Undefined if it is served: on other listeners, and with
   * the token.
   */
  #problemOfPage({ headers }: IncomingMessage, entrance: Entrance): string | undefined {
    if (!entrance.isPrivate || this.allows({ isPrivate: false }, headers.authorization)) return undefined;
    const { host = '', origin } = headers;
    if (host !== '' && !isLoopback(host)) {
      const expected = 'this listener is called by a name of the loopback, or with the token of the service';
      return `${expected}; the field Host is ${JSON.stringify(host)}`;
    }
    const site = headers['sec-fetch-site'];
    const foreign =
      origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`
        ? `Origin is ${JSON.stringify(origin)}`
        : site !== undefined && site !== 'same-origin' && site !== 'none'
          ? `Sec-Fetch-Site is ${JSON.stringify(site)}`
          : undefined;
    if (foreign === undefined) return undefined;
    return `without the token of the service, this listener rejects requests from other pages; the field ${foreign}`;
  }
}

/** Whether the Host field names the loopback. */
function isLoopback(host: string): boolean {
  return /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})(?::\d+)?$/i.test(host);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import type { ConnectionOptions } from 'node:tls';
import { type BreakerOptions, PolicyError } from '@sluice/core';
import { parseBreaker, checkOptions } from '@sluice/core/spi';

export interface RemoteStoreOptions {
  /** The token of the service. It needs none where it listens on loopback, a Unix socket or its admin listener. */
  token?: string | undefined;
  /** For `sluices:` URLs: certificates and the like, as `tls.connect` takes them. */
  tls?: ConnectionOptions | undefined;
  /**
   * When decisions stop waiting for a server that fails, and how often it is probed then. Default
   * `{ failures: 5, probeEveryMs: 500 }`. `false`: every decision calls the server and waits.
   */
  breaker?: BreakerOptions | false | undefined;
}

/** The options, checked. */
export interface RemoteSettings {
  readonly token: string | undefined;
  readonly tls: ConnectionOptions;
  readonly breaker: BreakerOptions | false;
}

/** @throws PolicyError for bad or unknown options. The token is in no error. */
export function parseRemoteOptions(options: RemoteStoreOptions): RemoteSettings {
  checkOptions(options, ['token', 'tls', 'breaker'], 'remoteStore');
  return {
    token: parseToken(options.token),
    tls: options.tls ?? {},
    breaker: parseBreaker(options.breaker),
  };
}

function parseToken(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && /^[\x21-\x7e]{1,1024}$/.test(given)) return given;
  const got = typeof given === 'string' ? `a string of ${String(given.length)}` : `a ${typeof given}`;
  throw new PolicyError(
    'token',
    `token must be 1 to 1024 printable characters without spaces, got ${got}; without a token leave it out`,
    'SLUICE_OPTION_INVALID',
  );
}

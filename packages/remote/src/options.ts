import type { ConnectionOptions } from 'node:tls';
import { type BreakerOptions, PolicyError } from '@sluice/old-core';
import { optional, parseBreaker, readOptions, type OptionTable, type SettingsOf } from '@sluice/old-core/spi';

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
export type RemoteSettings = SettingsOf<RemoteStoreOptions, Pick<RemoteStoreOptions, 'token'>>;

/** Every option, its check and its default: {@link RemoteStoreOptions} says what each means. */
const OPTIONS: OptionTable<RemoteSettings> = {
  token: optional(parseToken),
  tls: (given = {}) => {
    if (typeof given === 'object' && given !== null) return given;
    throw notShown('tls', 'an object of certificates and the like, as tls.connect takes it', given);
  },
  breaker: parseBreaker,
};

/** @throws PolicyError for bad or unknown options. The token is in no error. */
export function parseRemoteOptions(options: RemoteStoreOptions): RemoteSettings {
  return readOptions(options, OPTIONS, 'remoteStore');
}

function parseToken(given: unknown): string {
  if (typeof given === 'string' && /^[\x21-\x7e]{1,1024}$/.test(given)) return given;
  throw notShown('token', '1 to 1024 printable characters without spaces', given, '; without a token leave it out');
}

/** The error of a value that may be a secret. */
function notShown(name: string, expected: string, given: unknown, instead = ''): PolicyError {
  const got = typeof given === 'string' ? `a string of ${String(given.length)}` : `a ${typeof given}`;
  return new PolicyError(name, `${name} must be ${expected}, got ${got}${instead}`, 'SLUICE_OPTION_INVALID');
}

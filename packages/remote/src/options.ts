import type { ConnectionOptions } from 'node:tls';
import { type BreakerOptions, PolicyError } from '@sluice/core';
import { parseBreaker, checkOptions, parseSwitch } from '@sluice/core/spi';

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
  /**
   * Whether decisions of the same event loop turn are sent in one frame: default true. With `false` each decision is a
   * frame, and limits cannot be leased: needed where the service has a store of its own kind, which decides no batches.
   */
  batching?: boolean | undefined;
  /** Whether equal requests for one key in the same frame are counted in one step: default true. */
  coalescing?: boolean | undefined;
}

/** The options, checked. */
export interface RemoteSettings {
  readonly token: string | undefined;
  readonly tls: ConnectionOptions;
  readonly breaker: BreakerOptions | false;
  readonly batching: boolean;
  readonly coalescing: boolean;
}

/** @throws PolicyError for bad or unknown options. The token is in no error. */
export function parseRemoteOptions(options: RemoteStoreOptions): RemoteSettings {
  checkOptions(options, ['token', 'tls', 'breaker', 'batching', 'coalescing'], 'remoteStore');
  return {
    token: parseToken(options.token),
    tls: options.tls ?? {},
    breaker: parseBreaker(options.breaker),
    batching: parseSwitch(options.batching, 'batching'),
    coalescing: parseSwitch(options.coalescing, 'coalescing'),
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

import type { BreakerOptions } from '../../engine/store.ts';
import { parseBreaker } from '../../guard/breaker-options.ts';
import { flag, optional, readOptions, timerMs, type OptionTable, type SettingsOf } from '../../values/option.ts';
import { parsePrefix } from './connection.ts';

export interface RedisStoreOptions {
  /**
   * The name of your application, with which all keys begin: two applications on one Redis never share limits by
   * accident. 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`.
   */
  prefix: string;
  /**
   * For a URL: how long decisions wait for the first connection, in milliseconds, whatever their `timeoutMs`. An error
   * of the connection ends this at once. Default `2000`.
   */
  connectTimeoutMs?: number;
  /**
   * Compares every result of the script with the kernels', at the price of a longer reply; a difference rejects with
   * `SLUICE_TWINS_DISAGREE`. Default: true if the environment variable `SLUICE_CHECK` is `1`.
   */
  check?: boolean;
  /**
   * When decisions stop waiting for a Redis that fails, and how often it is probed then. Default
   * `{ failures: 5, probeEveryMs: 500 }`. In a cluster each node has a breaker or, if the client does not know the
   * nodes, every 256 hash slots. `false`: every decision calls Redis and waits. See
   * docs/guides/when-redis-fails.md.
   */
  breaker?: BreakerOptions | false;
}

/** The options, checked. */
export type RedisSettings = SettingsOf<RedisStoreOptions, { readonly connectTimeoutMs: number | undefined }>;

/** Every option, its check and its default: {@link RedisStoreOptions} says what each means. */
const OPTIONS: OptionTable<RedisSettings> = {
  prefix: (given) => parsePrefix(given, "redisStore(client, { prefix: 'shop' })"),
  connectTimeoutMs: /* @__PURE__ */ optional(/* @__PURE__ */ timerMs()),
  check: (given, name) => flag(process.env['SLUICE_CHECK'] === '1')(given, name),
  breaker: parseBreaker,
};

/** @throws PolicyError for a missing prefix, and for bad or unknown options. */
export function parseRedisOptions(options: RedisStoreOptions | undefined): RedisSettings {
  return readOptions(options ?? {}, OPTIONS, 'redisStore');
}

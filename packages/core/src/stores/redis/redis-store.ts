import { PolicyError, StoreError } from '../../errors.ts';
import { fixedWindow } from '../../policies/fixed-window.ts';
import { optional, readOptions, timerMs, type Field, type Optional, type Options } from '../../values/shape.ts';
import { GIVE } from '../../program/decide.ts';
import { OPS } from '../perform.ts';
import type { Answer, Ask, Op, Store } from '../store.ts';
import { Batching } from './batching.ts';
import type { AnyRedisClient } from './clients/adopt.ts';
import type { Port, RedisClient } from './clients/port.ts';
import { areOnNodes, performOnNodes } from './cluster.ts';
import { parsePrefix } from '../../values/prefix.ts';
import { findPort, rememberConnection } from './connection.ts';
import { DenialCache, type Send } from './denial-cache.ts';
import { ScriptRunner } from './run-script.ts';

const SHAPE = {
  /**
   * The name of your application, which all keys begin with, so that two applications on one Redis do not share limits
   * by accident. 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`.
   */
  prefix: ((given) => parsePrefix(given, 'redisStore')) as Field<string>,
  /**
   * For a URL: how long the first decisions wait for a reply once the socket is connected, in milliseconds, regardless
   * of `timeoutMs`. Before that, they wait 500 ms for the connection, or this long if it is longer, but not at all if
   * the server rejects it. Default `250`.
   */
  connectTimeoutMs: optional(timerMs) as Optional<number>,
};

export interface RedisStoreOptions extends Options<typeof SHAPE> {}

/** A store in Redis or Valkey, or a cluster of either. */
export interface RedisStore extends Store {
  readonly source: 'redis';
  /**
   * Resolves when Redis can decide, and retries until then, so that the first requests do not wait for a connection.
   * Optional; useful at startup, and for readiness checks.
   *
   * @param timeoutMs - Milliseconds after which it rejects with the last error, as it does when the store is closed.
   * Default 5000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for a bad timeout; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Limits that hold across processes. All requests of one turn of the event loop share one script call, and are decided
 * at one instant of the server's clock, in whole milliseconds. One key per policy and subject; every key expires. Needs
 * Redis 6.2 or Valkey 8, or later.
 *
 * @param client - A client of ioredis, iovalkey or node-redis, anything with `evalsha` and `eval` (see {@link
 * RedisClient}), or a URL. The store never connects or closes a client that the caller passed; for a URL it makes one
 * with ioredis at the first decision, and closes it with the store.
 * @throws PolicyError for any other client, for a missing prefix, and for bad or unknown options; StoreError
 * `SLUICE_REDIS_CLIENT_MISSING` for a URL without the package ioredis (in a bundle, only at the first call).
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions): RedisStore;
// Two overloads, so that the functions of an inline object are typed.
// eslint-disable-next-line @typescript-eslint/unified-signatures
export function redisStore(client: AnyRedisClient | string, options: RedisStoreOptions): RedisStore;
export function redisStore(client: AnyRedisClient | string, options: RedisStoreOptions): RedisStore {
  const { prefix, connectTimeoutMs } = readOptions((options as unknown) ?? {}, SHAPE, 'redisStore');
  if (typeof client !== 'string' && connectTimeoutMs !== undefined) {
    throw new PolicyError(
      'connectTimeoutMs',
      'connectTimeoutMs needs a URL; your own client connects itself, got a client',
      'SLUICE_OPTION_INVALID',
    );
  }
  const port = findPort(client, 'redisStore', connectTimeoutMs);
  const store = new ScriptedStore(port, prefix);
  rememberConnection(store, typeof client === 'string' ? port : client, port, prefix);
  return store;
}

/** How long `ready` waits between two attempts. */
const RETRY_MS = 50;
/** Peeked at by `ready`, which writes nothing. No limiter's name begins with a minus. */
const READY: Ask = /* @__PURE__ */ (() => ({
  key: '{}:-ready',
  policy: fixedWindow({ limit: 1, window: '1m' }),
  cost: 0,
}))();

class ScriptedStore implements RedisStore {
  readonly source = 'redis';
  readonly #port: Port;
  readonly #batching: Batching;
  readonly #denials = new DenialCache();
  #closings = 0;

  constructor(port: Port, prefix: string) {
    this.#port = port;
    this.#batching = new Batching(new ScriptRunner(port), prefix, port.cluster === true);
  }

  perform(op: Op, asks: readonly Ask[]): Answer | Promise<Answer> {
    return this.#denials.perform(op, asks, this.#send);
  }

  readonly #send: Send = ({ op, asks, resolve, reject }) => {
    const isEach = OPS[op] >= GIVE && asks[0]?.isOnce !== true;
    const isSplit = asks.length !== 1 && (isEach || (this.#port.cluster === true && areOnNodes(asks)));
    if (!isSplit) this.#batching.add(op, asks, { resolve, reject });
    else performOnNodes(op, asks, async (own, some) => this.perform(own, some)).then(resolve, reject);
  };

  opening(): Promise<void> | undefined {
    return this.#port.opening?.();
  }

  async ready(timeoutMs = 5000): Promise<void> {
    timerMs(timeoutMs, 'timeoutMs', 'SLUICE_OPTION_INVALID');
    const closings = this.#closings;
    const endMs = performance.now() + timeoutMs;
    let failure: unknown = new StoreError('SLUICE_STORE_TIMEOUT', 'Redis has not answered yet');
    do {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => (timer = setTimeout(resolve, endMs - performance.now(), failure)));
      const peeked = Promise.resolve(this.perform('peek', [READY]));
      failure = await Promise.race([
        peeked.then(
          () => true,
          (error: unknown) => error,
        ),
        late,
      ]);
      clearTimeout(timer);
      if (failure === true) return;
      if ((failure as StoreError).code === 'SLUICE_REDIS_CLIENT_MISSING') break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    } while (performance.now() < endMs && closings === this.#closings);
    throw failure as Error;
  }

  async close(): Promise<void> {
    this.#closings++;
    this.#batching.flush(); // what is sent later would open the store again
    await this.#port.close?.();
  }
}

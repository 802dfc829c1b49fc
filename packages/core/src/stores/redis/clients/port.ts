/**
 * A client of any library, for a Redis store. Clients of ioredis, iovalkey and node-redis work as they are; others need a
 * wrapper with these members. See docs/guides/redis-clients.md.
 *
 * Both calls resolve to the reply of the script, with strings or bytes. They reject with an `Error` whose message
 * begins with Redis's error code, such as `NOSCRIPT`. A call must never be sent twice: it may have counted.
 */
export interface RedisClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Whether all keys of one call must be in one hash slot. Default false. */
  readonly cluster?: boolean;
}

/** A client as the store uses it. */
export interface Port extends RedisClient {
  /** Why nothing can be sent at the moment; undefined if something can. */
  whyAway?(): Error | undefined;
  /**
   * Subscribes over a separate connection, which does not keep the process alive. Calls `onMessage` for every message,
   * and once when subscribed; calls `onEnd`, perhaps several times, when the subscription has ended, even if the
   * returned function ended it. An ACL may deny it.
   */
  subscribe?(channel: string, onMessage: () => void, onEnd: () => void): () => void;
  /** Only for a client that the store created: like `Store.opening`. */
  opening?(): Promise<void> | undefined;
  /** Only for a client that the store created. */
  close?(): Promise<void>;
}

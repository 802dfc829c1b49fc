/**
 * A client of any library, for a Redis store. Clients of ioredis, iovalkey and node-redis work as they are; others need a
 * wrapper with these members. See docs/guides/redis-clients.md.
 *
 * Both calls resolve to the reply of the script, strings as text or as bytes. They reject with an `Error` whose message
 * begins with the word that Redis put first, such as `NOSCRIPT`. A call must never be sent twice: it may have counted.
 */
export interface RedisClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Whether all keys of one call must have one hash slot. Default false. */
  readonly cluster?: boolean;
}

/** A client as the store uses it. */
export interface Port extends RedisClient {
  /** Why nothing can be sent at the moment; undefined if something can. */
  whyAway?(): Error | undefined;
  /**
   * Subscribes over a connection of its own, which keeps no process alive. Calls `onMessage` for every message and once
   * when it is subscribed; calls `onEnd`, maybe several times, when the subscription has ended, also if the returned
   * function ended it. An ACL may deny it.
   */
  subscribe?(channel: string, onMessage: () => void, onEnd: () => void): () => void;
  /** Only of a client that the store made itself: as `Store.opening`. */
  opening?(): Promise<void> | undefined;
  /** Only of a client that the store made itself. */
  close?(): Promise<void>;
}

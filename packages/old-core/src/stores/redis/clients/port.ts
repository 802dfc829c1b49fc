/**
 * The interface of a client for a Redis store. Clients of ioredis, iovalkey and node-redis work as they are; a client
 * of any other library needs a wrapper with these members. See docs/guides/redis-clients.md.
 *
 * Both calls resolve to the script's reply: an array of integers, strings (or buffers), nulls and such arrays. They
 * reject with an `Error` whose message begins with the word that Redis put first, `NOSCRIPT` above all, and send
 * nothing twice by themselves, or say so in `sendsAgain`.
 */
export interface RedisClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly cluster?: boolean;
  /**
   * Whether the client may send a call again whose reply it has not seen. Then each refund writes a key that expires
   * after a minute, and gives back once; a decision may still count twice. Without effect in a cluster, where a second
   * key would fail while a hash slot moves. Default false.
   */
  readonly sendsAgain?: boolean;
  /** In a cluster, the node of a hash slot, if the client knows it. */
  nodeOf?(hashSlot: number): string | undefined;
  /**
   * Subscribes to a channel over a connection of its own, which keeps no process alive. Calls `onMessage` for every
   * message, and whenever messages may have been lost; calls `onEnd` when the subscription stops, which can be made
   * again after some seconds. Returns a function that ends it at once. Without `subscribe`, polling alone finds changes
   * of managed policies, twice a second.
   */
  subscribe?(channel: string, onMessage: () => void, onEnd: () => void): () => void;
  /** The reply of INFO, if the client can call it. Without it, eviction policies are not checked. */
  info?(section: string): Promise<unknown>;
}

/** A client whose errors are made ready for callers where they are caught: a promise less for each call. */
export interface AdoptedClient extends RedisClient {
  explain?(error: unknown): unknown;
}

/** Our own client: opened on first use, and closed by the store. */
export interface OwnClient {
  /** Connects ahead of the first use. Until then the connection keeps no process alive. */
  connect(): void;
  /** Settles with the first attempt to connect, within `connectTimeoutMs`; undefined after that, and before it. */
  readonly connecting: Promise<void> | undefined;
  open(): Promise<RedisClient>;
  close(): Promise<void>;
}

/**
 * What a Redis store needs of a client. Clients of ioredis, iovalkey and node-redis are taken as they are; one of any
 * other library fits when it is wrapped to look like this. See docs/guides/redis-clients.md.
 *
 * Both calls answer with the script's reply: an array of integers, strings (or buffers), nulls and such arrays. They
 * reject with an `Error` whose message begins with the word that Redis put first, `NOSCRIPT` above all, and send nothing
 * twice by themselves.
 */
export interface RedisClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly cluster?: boolean;
  /** In a cluster, the node that a hash slot lives on, as far as the client knows. */
  nodeOf?(slot: number): string | undefined;
  /**
   * Calls back for every message of a channel, and whenever some may have been missed, over a connection of its own that
   * keeps no process alive. Answers what ends that, at once. Where nothing will be heard any more it says so by `ended`, and
   * may be asked again after some seconds: what is not heard is found by asking.
   * Without it changes of managed policies are found by asking alone, twice a second.
   */
  subscribe?(channel: string, heard: () => void, ended: () => void): () => void;
  /** The answer of INFO, where the client can ask for it. Without it nothing is said about eviction policies. */
  info?(section: string): Promise<unknown>;
}

/** A client of our own making: opened when it is first used, and ours to close. */
export interface OwnClient {
  open(): Promise<RedisClient>;
  close(): Promise<void>;
}

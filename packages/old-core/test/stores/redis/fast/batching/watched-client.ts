import type { Redis } from 'ioredis';
import type { RedisClient } from '@sluice/old-core';

/** A call of a script, as it was sent. */
export interface SentCall {
  readonly how: 'evalsha' | 'eval';
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** A client of a real server whose calls are looked at, in the order in which they were sent. */
export interface WatchedClient extends RedisClient {
  readonly sent: SentCall[];
  /** Called with each call before it is sent. */
  onSend?: (call: SentCall) => void;
}

export function watchedClient(redis: Redis): WatchedClient {
  const note = (how: SentCall['how'], keys: readonly string[], args: readonly string[]): void => {
    const call = { how, keys, args };
    client.sent.push(call);
    client.onSend?.(call);
  };
  const client: WatchedClient = {
    sent: [],
    evalsha(sha1, keys, args) {
      note('evalsha', keys, args);
      return redis.evalsha(sha1, keys.length, ...keys, ...args);
    },
    eval(script, keys, args) {
      note('eval', keys, args);
      return redis.eval(script, keys.length, ...keys, ...args);
    },
  };
  return client;
}

import { Redis, type RedisOptions } from 'ioredis';

/** What differs from the usual, in ioredis's words. */
export type ConnectOptions = Omit<RedisOptions, 'replyMapping'>;

/**
 * A connection for a test to look around with, or to hand to a store, while servers come and go: it connects again soon, its
 * calls fail at once while there is no connection and after five seconds without an answer, nothing is sent twice, nothing
 * is printed, and it leaves no timer behind.
 */
export function connectTo(url: string, options: ConnectOptions = {}): Redis {
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: 5_000,
    retryStrategy: () => 50,
    disconnectTimeout: 50,
    ...options,
  });
  client.on('error', () => undefined);
  return client;
}

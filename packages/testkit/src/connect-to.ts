import { Redis, type RedisOptions } from 'ioredis';

/** Options of ioredis that replace the defaults below. */
export type ConnectOptions = Omit<RedisOptions, 'replyMapping'>;

/**
 * A connection for tests and stores while servers stop and start. It reconnects soon. Its calls fail at once without a
 * connection, and after five seconds without an answer. It sends nothing twice, prints nothing, and leaves no timer
 * behind.
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

import { afterEach, beforeEach, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  createLimiter,
  redisStore,
  type IoredisClient,
  type Limiter,
  type SingleLimiterOptions,
  type RedisClient,
} from '@sluice/old-core';
import { createPolicies, type Policies, type PolicySource } from '@sluice/old-managed';
import { useRedis, type RunningRedis } from '@sluice/testkit';

type Source = PolicySource | RedisClient | IoredisClient | string;

/** A Redis of the test file, empty before every test, and what its tests make: closed after them. */
export interface Managed {
  readonly redis: RunningRedis;
  /** A connection of its own: what goes through it knows nothing of what goes through others, as in another process. */
  connect(url?: string): Redis;
  /** The policies in that Redis, as one process more sees them; or those of another source. */
  policies(source?: Source): Policies;
  /**
   * A limiter of one process more: it has a connection of its own, and so its own view of the policies. A store that
   * fails rejects.
   */
  limiter(options: Partial<SingleLimiterOptions>): Limiter;
  /** To be closed with the others. */
  keep<T extends { close(): Promise<void> }>(closable: T): T;
  /** What was warned of in this test: code and message. */
  readonly warnings: readonly string[];
}

export function useManaged(args: readonly string[] = []): Managed {
  const redis = useRedis(args);
  const open: { close(): Promise<void> }[] = [];
  const connections: Redis[] = [];
  const warnings: string[] = [];
  beforeEach(async () => {
    warnings.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
      warnings.push(`${String((options as { code?: string }).code)}: ${String(message)}`);
    });
    await redis.admin.flushall();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((closable) => closable.close()));
    for (const connection of connections.splice(0)) connection.disconnect();
  });
  const connect = (url = redis.server.url): Redis => {
    // One that was closed while it is made may be made again and again, to a port that another test has.
    const retryStrategy = (): number | null => (connections.includes(connection) ? 50 : null);
    const connection: Redis = new Redis(url, { retryStrategy, disconnectTimeout: 50 });
    connection.on('error', () => undefined);
    connections.push(connection);
    return connection;
  };
  const keep = <T extends { close(): Promise<void> }>(closable: T): T => {
    open.push(closable);
    return closable;
  };
  return {
    redis,
    warnings,
    connect,
    keep,
    policies: (source = connect()) =>
      keep(
        typeof source === 'object' && 'load' in source
          ? createPolicies(source)
          : createPolicies(source, { prefix: 'sluice' }),
      ),
    limiter: ({ store = redisStore(connect(), { prefix: 'sluice' }), ...options }) =>
      keep(
        createLimiter({
          app: 'checkout',
          store,
          timeoutMs: 10_000,
          onStoreError: 'throw',
          ...options,
        } as SingleLimiterOptions),
      ),
  };
}

import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from './redis-server.ts';

/** A real server for this test file, with connections to it that are open while its tests run. */
export interface RunningRedis {
  /** For stores under test: has the rights of {@link leastPrivilege} under `sluice:*`, and no others. */
  readonly client: Redis;
  /** For the tests themselves, to inspect and clean up: has all rights. */
  readonly admin: Redis;
  readonly server: RedisServer;
}

/** Starts a server before the tests of the file, or block, that calls this, and ends it after them. */
export function useRedis(args: readonly string[] = []): RunningRedis {
  const running: { -readonly [Name in keyof RunningRedis]?: RunningRedis[Name] } = {};
  beforeAll(async () => {
    running.server = await startRedis(args);
    running.client = new Redis(running.server.storeUrl);
    running.admin = new Redis(running.server.url);
  });
  afterAll(async () => {
    running.client?.disconnect();
    running.admin?.disconnect();
    await running.server?.stop();
  });
  return running as RunningRedis;
}

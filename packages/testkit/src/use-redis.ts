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
  let server: RedisServer | undefined;
  let client: Redis | undefined;
  let admin: Redis | undefined;
  beforeAll(async () => {
    server = await startRedis(args);
    client = new Redis(server.storeUrl);
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    client?.disconnect();
    admin?.disconnect();
    await server?.stop();
  });
  return {
    get client() {
      return client as Redis;
    },
    get admin() {
      return admin as Redis;
    },
    get server() {
      return server as RedisServer;
    },
  };
}

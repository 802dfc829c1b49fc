import { afterAll, beforeAll } from '@jest/globals';
import { useRedis, type RunningRedis } from '@sluice/testkit';
import { Redis } from 'ioredis';

/** The rights of a user that is only a member, as docs/guides/redis-permissions.md states it. */
const MEMBER = '~sluice:members:* +evalsha +eval +time +hget +hgetall +hset +hdel +pexpire +info';

/** A real server on which members have only the rights they need. */
export interface RunningRegistry extends RunningRedis {
  readonly member: Redis;
  readonly memberUrl: string;
}

export function useRegistry(): RunningRegistry {
  let member: Redis | undefined;
  afterAll(() => {
    member?.disconnect();
  });
  const redis = useRedis();
  const urlOf = (): string => redis.server.url.replace('redis://', 'redis://member:secret@');
  beforeAll(async () => {
    await redis.admin.call('ACL', 'SETUSER', 'member', 'on', '>secret', ...MEMBER.split(' '));
    member = new Redis(urlOf());
  });
  return {
    get client() {
      return redis.client;
    },
    get admin() {
      return redis.admin;
    },
    get server() {
      return redis.server;
    },
    get member() {
      return member as Redis;
    },
    get memberUrl() {
      return urlOf();
    },
  };
}

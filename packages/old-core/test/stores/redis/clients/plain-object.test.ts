import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { RedisClient } from '@sluice/old-core';
import { describeRedisClient, type TestClient } from '@sluice/testkit';

/** Any library's client, wrapped. */
async function wrapped(url: string, replyOf = (reply: unknown): unknown => reply): Promise<TestClient> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  });
  redis.on('error', () => undefined);
  await once(redis, 'ready');
  const client: RedisClient = {
    evalsha: async (sha1, keys, args) => replyOf(await redis.evalsha(sha1, keys.length, ...keys, ...args)),
    eval: async (script, keys, args) => replyOf(await redis.eval(script, keys.length, ...keys, ...args)),
  };
  return {
    client,
    close: async () => {
      redis.disconnect();
      if (redis.status !== 'end') await once(redis, 'end');
    },
  };
}

const buffersIn = (reply: unknown): unknown => {
  if (Array.isArray(reply)) return reply.map(buffersIn);
  return typeof reply === 'string' ? Buffer.from(reply) : reply;
};

const bigIntsIn = (reply: unknown): unknown => {
  if (Array.isArray(reply)) return reply.map(bigIntsIn);
  return typeof reply === 'number' ? BigInt(reply) : reply;
};

describeRedisClient('of any make, with evalsha and eval', {
  connect: ({ url }) => wrapped(url),
  variants: {
    'with buffers for strings': ({ url }) => wrapped(url, buffersIn),
    'with bigints for integers': ({ url }) => wrapped(url, bigIntsIn),
  },
});

import RedisStore from '@fastify/rate-limit/store/RedisStore.js';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import Limiter from 'async-ratelimiter';
import { RedisStore as ExpressStore } from 'rate-limit-redis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
import { inRedis } from './sluice.mjs';

const WINDOW_MS = 3_600_000;
const HAND_WRITTEN = `
local used = redis.call('INCR', KEYS[1])
if used == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { used, redis.call('PTTL', KEYS[1]) }`;

/** Whether any of several calls that form one decision denies. */
const anyAbove = (limit, usedOf) => (answers) =>
  Array.isArray(answers) ? answers.some((answer) => usedOf(answer) > limit) : usedOf(answers) > limit;

/** One call per policy, all at once, for packages without combined policies. */
const each = (consumers) =>
  consumers.length === 1 ? consumers[0] : (key) => Promise.all(consumers.map((consume) => consume(key)));

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

function rawIncr(client, { limit }) {
  return { consume: (key) => client.incr(key), denies: (used) => used > limit };
}

async function rawEvalsha(client, { limit }) {
  const sha = await client.script('LOAD', HAND_WRITTEN);
  return { consume: (key) => client.evalsha(sha, 1, key, WINDOW_MS), denies: ([used]) => used > limit };
}

async function rateLimitRedis(client, { limit, policies }) {
  const stores = times(policies, (i) => {
    const store = new ExpressStore({ prefix: `rl${i}:`, sendCommand: (...words) => client.call(...words) });
    return store.init({ windowMs: WINDOW_MS }).then(() => store);
  });
  const consumers = (await Promise.all(stores)).map((store) => (key) => store.increment(key));
  return { consume: each(consumers), denies: anyAbove(limit, ({ totalHits }) => totalHits) };
}

const DENIED = null;

function rateLimiterFlexible(client, { limit, policies, blocks = false }) {
  const limiters = times(
    policies,
    (i) =>
      new RateLimiterRedis({
        ...{ storeClient: client, points: limit, duration: WINDOW_MS / 1000, keyPrefix: `rlflx${i}` },
        ...(blocks ? { inMemoryBlockOnConsumed: limit + 1 } : {}),
      }),
  );
  const limiter = policies === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
  const denied = (reason) => {
    if (reason instanceof Error) throw reason;
    return DENIED;
  };
  return { consume: (key) => limiter.consume(key).catch(denied), denies: (answer) => answer === DENIED };
}

function fastifyRateLimit(client, { limit, policies }) {
  const consumers = times(policies, (i) => {
    const store = new RedisStore(false, false, client, `fastify-rate-limit-${i}-`);
    return (key) =>
      new Promise((resolve, reject) => {
        store.incr(key, (error, answer) => (error ? reject(error) : resolve(answer)), WINDOW_MS, limit);
      });
  });
  return { consume: each(consumers), denies: anyAbove(limit, ({ current }) => current) };
}

function koaRatelimit(client, { limit }) {
  return {
    // As koa-ratelimit does: an object per request.
    consume: (id) => new Limiter({ db: client, id, max: limit, duration: WINDOW_MS }).get(),
    denies: ({ remaining }) => remaining === 0,
  };
}

function nestThrottler(client, { limit, policies }) {
  const storage = new ThrottlerStorageRedisService(client);
  const consumers = times(policies, (i) => (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, `name-${i}`));
  return {
    consume: each(consumers),
    denies: (answers) => (Array.isArray(answers) ? answers.some(({ isBlocked }) => isBlocked) : answers.isBlocked),
  };
}

const always = () => true;
const alone = ({ policies }) => policies === 1;
const someDenied = ({ shape }) => shape === 'denied';

/**
 * Each makes, for a client of ioredis and a limit, a function that consumes a unit of a key; `plays` selects its
 * scenes.
 */
export const redisContenders = {
  'raw INCR': { kind: 'floor', make: rawIncr, plays: always },
  'raw EVALSHA': { kind: 'floor', make: rawEvalsha, plays: always },
  sluice: { kind: 'ours', make: inRedis, plays: always },
  'sluice, slidingWindow': {
    kind: 'ours',
    make: (client, options) => inRedis(client, { ...options, kind: 'slidingWindow' }),
    plays: alone,
  },
  'rate-limit-redis': { kind: 'peer', make: rateLimitRedis, plays: always },
  'rate-limiter-flexible': { kind: 'peer', make: rateLimiterFlexible, plays: always },
  'rate-limiter-flexible, in-memory block': {
    kind: 'peer',
    make: (client, options) => rateLimiterFlexible(client, { ...options, blocks: true }),
    plays: someDenied,
  },
  '@fastify/rate-limit': { kind: 'peer', make: fastifyRateLimit, plays: always },
  // A log of every unit: its keys grow during the measurement.
  'koa-ratelimit': { kind: 'peer', make: koaRatelimit, plays: alone },
  '@nestjs/throttler': { kind: 'peer', make: nestThrottler, plays: always },
};

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

/** Of several calls that are one decision: whether any refuses. */
const anyOver = (limit, usedOf) => (answers) =>
  Array.isArray(answers) ? answers.some((answer) => usedOf(answer) > limit) : usedOf(answers) > limit;

/** One call a policy, all at once: what is left to do where a package has no policies that hold together. */
const each = (takes) => (takes.length === 1 ? takes[0] : (key) => Promise.all(takes.map((take) => take(key))));

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

function rawIncr(client, { limit }) {
  return { take: (key) => client.incr(key), refuses: (used) => used > limit };
}

async function rawEvalsha(client, { limit }) {
  const sha = await client.script('LOAD', HAND_WRITTEN);
  return { take: (key) => client.evalsha(sha, 1, key, WINDOW_MS), refuses: ([used]) => used > limit };
}

async function rateLimitRedis(client, { limit, policies }) {
  const stores = times(policies, (i) => {
    const store = new ExpressStore({ prefix: `rl${i}:`, sendCommand: (...words) => client.call(...words) });
    return store.init({ windowMs: WINDOW_MS }).then(() => store);
  });
  const takes = (await Promise.all(stores)).map((store) => (key) => store.increment(key));
  return { take: each(takes), refuses: anyOver(limit, ({ totalHits }) => totalHits) };
}

const REFUSED = null;

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
  const refused = (reason) => {
    if (reason instanceof Error) throw reason;
    return REFUSED;
  };
  return { take: (key) => limiter.consume(key).catch(refused), refuses: (answer) => answer === REFUSED };
}

function fastifyRateLimit(client, { limit, policies }) {
  const takes = times(policies, (i) => {
    const store = new RedisStore(false, false, client, `fastify-rate-limit-${i}-`);
    return (key) =>
      new Promise((resolve, reject) => {
        store.incr(key, (error, answer) => (error ? reject(error) : resolve(answer)), WINDOW_MS, limit);
      });
  });
  return { take: each(takes), refuses: anyOver(limit, ({ current }) => current) };
}

function koaRatelimit(client, { limit }) {
  return {
    // As koa-ratelimit does: an object a request.
    take: (id) => new Limiter({ db: client, id, max: limit, duration: WINDOW_MS }).get(),
    refuses: ({ remaining }) => remaining === 0,
  };
}

function nestThrottler(client, { limit, policies }) {
  const storage = new ThrottlerStorageRedisService(client);
  const takes = times(policies, (i) => (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, `name-${i}`));
  return {
    take: each(takes),
    refuses: (answers) => (Array.isArray(answers) ? answers.some(({ isBlocked }) => isBlocked) : answers.isBlocked),
  };
}

const always = () => true;
const alone = ({ policies }) => policies === 1;
const someRefused = ({ shape }) => shape === 'refused';

/** Each makes, for a client of ioredis and a limit, what takes a unit of a key's; `plays` says where it can, or matters. */
export const redisContenders = {
  'raw INCR': { kind: 'floor', make: rawIncr, plays: always },
  'raw EVALSHA': { kind: 'floor', make: rawEvalsha, plays: always },
  sluice: { kind: 'ours', make: inRedis, plays: always },
  'sluice, slidingWindow': {
    kind: 'ours',
    make: (client, options) => inRedis(client, { ...options, kind: 'slidingWindow' }),
    plays: alone,
  },
  'sluice, lease': {
    kind: 'ours',
    make: (client, options) => inRedis(client, { ...options, lease: true }),
    plays: ({ shape, policies }) => shape === 'one' && policies === 1,
  },
  'rate-limit-redis': { kind: 'peer', make: rateLimitRedis, plays: always },
  'rate-limiter-flexible': { kind: 'peer', make: rateLimiterFlexible, plays: always },
  'rate-limiter-flexible, in-memory block': {
    kind: 'peer',
    make: (client, options) => rateLimiterFlexible(client, { ...options, blocks: true }),
    plays: someRefused,
  },
  '@fastify/rate-limit': { kind: 'peer', make: fastifyRateLimit, plays: always },
  // A log of every unit: its keys grow as long as it is measured.
  'koa-ratelimit': { kind: 'peer', make: koaRatelimit, plays: alone },
  '@nestjs/throttler': { kind: 'peer', make: nestThrottler, plays: always },
};

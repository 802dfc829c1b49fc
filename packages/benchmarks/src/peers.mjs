// The packages that are measured, by name. Each makes, for a limit, what consumes a unit of a key and what reads a denial.
import { promisify } from 'node:util';
import FastifyMemory from '@fastify/rate-limit/store/LocalStore.js';
import FastifyRedis from '@fastify/rate-limit/store/RedisStore.js';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { createLimiter, fixedWindow, memoryStore, redisStore, slidingWindow, tokenBucket } from '@sluice/core';
import AsyncLimiter from 'async-ratelimiter';
import { MemoryStore } from 'express-rate-limit';
import KoaMemory from 'koa-ratelimit/limiter/memory.js';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';

const WINDOW_MS = 3_600_000;
const MAX_KEYS = 2_000_000;
const SECONDS = { duration: WINDOW_MS / 1000 };

const repeat = (count, make) => Array.from({ length: count }, (_, i) => make(i));

function sluice(policy, options) {
  const limiter = createLimiter({ policy, ...options });
  return { consume: (key) => limiter.consume(key), denies: ({ allowed }) => !allowed };
}

function express(limit, store) {
  store.init({ windowMs: WINDOW_MS });
  return { consume: (key) => store.increment(key), denies: ({ totalHits }) => totalHits > limit };
}

function flexible(limiter) {
  const denied = (reason) => {
    if (reason instanceof Error) throw reason;
    return null;
  };
  return { consume: (key) => limiter.consume(key).catch(denied), denies: (answer) => answer === null };
}

/** As its middleware does: an object for each request. */
function koa(limit, Limiter, db, prefix = '') {
  const consume = (key) => new Limiter({ id: prefix + key, db, max: limit, duration: WINDOW_MS }).get();
  return { consume, denies: ({ remaining }) => remaining === 0 };
}

function nest(limit, storage, name) {
  const consume = (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, name);
  return { consume, denies: ({ isBlocked }) => isBlocked };
}

const inMemory = (policy) => sluice(policy, { store: memoryStore({ maxKeys: MAX_KEYS }) });

export const IN_MEMORY = {
  'Map by hand': (limit) => {
    const counts = new Map();
    const consume = (key) => {
      const now = Date.now();
      let entry = counts.get(key);
      if (entry === undefined || entry.endMs <= now) counts.set(key, (entry = { used: 0, endMs: now + WINDOW_MS }));
      return ++entry.used <= limit;
    };
    return { consume, denies: (allowed) => !allowed };
  },
  sluice: (limit) => inMemory(fixedWindow({ limit, window: WINDOW_MS })),
  'sluice, slidingWindow': (limit) => inMemory(slidingWindow({ limit, window: WINDOW_MS })),
  'sluice, tokenBucket': (limit) => inMemory(tokenBucket({ capacity: limit, refill: limit, every: WINDOW_MS })),
  'express-rate-limit': (limit) => express(limit, new MemoryStore()),
  '@fastify/rate-limit': (limit) => {
    const local = new FastifyMemory(false, false, MAX_KEYS);
    let answer;
    const keep = (_, entry) => (answer = entry);
    const consume = (key) => {
      local.incr(key, keep, WINDOW_MS, limit);
      return answer;
    };
    return { consume, denies: ({ current }) => current > limit };
  },
  'rate-limiter-flexible': (limit) => flexible(new RateLimiterMemory({ points: limit, ...SECONDS })),
  'koa-ratelimit': (limit) => koa(limit, KoaMemory, new Map()),
  '@nestjs/throttler': (limit) => nest(limit, new ThrottlerStorageService(), 'default'),
};

const sluiceOnRedis = (make) => (client, limit, policies) => {
  const others = repeat(policies - 1, (i) => fixedWindow({ limit: 1e9, window: `${i + 2}h`, name: `other-${i}` }));
  return sluice([make({ limit, window: '1h', name: 'first' }), ...others], {
    store: redisStore(client, { prefix: make.name }),
    // A pause of the machine is no failure.
    onStoreError: 'throw',
    timeoutMs: 5_000,
  });
};

/** For packages without combined limits: a call for each, all at once. */
const together = (make) => (client, limit, policies) => {
  const limiters = repeat(policies, (i) => make(client, limit, i));
  return {
    consume: (key) => Promise.all(limiters.map(({ consume }) => consume(key))),
    denies: (answers) => answers.some((answer) => limiters[0].denies(answer)),
  };
};

/** For a client of ioredis, a limit and a number of limits. */
export const ON_REDIS = {
  INCR: (client, limit) => ({ consume: (key) => client.incr(key), denies: (used) => used > limit }),
  sluice: sluiceOnRedis(fixedWindow),
  'sluice, slidingWindow': sluiceOnRedis(slidingWindow),
  'rate-limit-redis': together((client, limit, i) => {
    const sendCommand = (...words) => client.call(...words);
    return express(limit, new RedisStore({ prefix: `rl${i}:`, sendCommand }));
  }),
  'rate-limiter-flexible': (client, limit, policies) => {
    const about = { storeClient: client, points: limit, ...SECONDS };
    const limiters = repeat(policies, (i) => new RateLimiterRedis({ ...about, keyPrefix: `rlflx${i}` }));
    return flexible(policies === 1 ? limiters[0] : new RateLimiterUnion(...limiters));
  },
  '@fastify/rate-limit': together((client, limit, i) => {
    const redis = new FastifyRedis(false, false, client, `fastify-${i}-`);
    const consume = promisify((key, done) => redis.incr(key, done, WINDOW_MS, limit));
    return { consume, denies: ({ current }) => current > limit };
  }),
  // A log of every unit: its keys grow while they are measured.
  'koa-ratelimit': together((client, limit, i) => koa(limit, AsyncLimiter, client, String(i))),
  '@nestjs/throttler': together((client, limit, i) => nest(limit, new ThrottlerStorageRedisService(client), `n${i}`)),
};

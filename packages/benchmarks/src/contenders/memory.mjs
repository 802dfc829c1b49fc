import FastifyStore from '@fastify/rate-limit/store/LocalStore.js';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { MemoryStore } from 'express-rate-limit';
import KoaMemory from 'koa-ratelimit/limiter/memory.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { inMemory } from './sluice.mjs';
import { synchronous } from './sync.mjs';

const WINDOW_MS = 3_600_000;

/** The simplest possible limit: a count and an instant in a Map. */
function byHand({ limit }) {
  const counts = new Map();
  const consume = (key) => {
    const now = Date.now();
    let entry = counts.get(key);
    if (entry === undefined || entry.endMs <= now) counts.set(key, (entry = { used: 0, endMs: now + WINDOW_MS }));
    return ++entry.used <= limit;
  };
  return { isSync: true, consume, denies: (allowed) => !allowed };
}

function expressRateLimit({ limit }) {
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS });
  return { consume: (key) => store.increment(key), denies: ({ totalHits }) => totalHits > limit };
}

function fastifyRateLimit({ limit, mostKeys }) {
  const store = new FastifyStore(false, false, mostKeys);
  let answer;
  const keep = (_, entry) => (answer = entry);
  const consume = (key) => {
    store.incr(key, keep, WINDOW_MS, limit);
    return answer;
  };
  return { isSync: true, consume, denies: ({ current }) => current > limit };
}

function rateLimiterFlexible({ limit }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
  const DENIED = null;
  const denied = (reason) => {
    if (reason instanceof Error) throw reason;
    return DENIED;
  };
  return { consume: (key) => limiter.consume(key).catch(denied), denies: (answer) => answer === DENIED };
}

function koaRatelimit({ limit }) {
  const db = new Map();
  return {
    // As its middleware does: an object per request, which reads the Map.
    consume: (id) => new KoaMemory({ id, db, max: limit, duration: WINDOW_MS }).get(),
    denies: ({ remaining }) => remaining === 0,
  };
}

function nestThrottler({ limit }) {
  const storage = new ThrottlerStorageService();
  return {
    consume: (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, 'default'),
    denies: ({ isBlocked }) => isBlocked,
  };
}

/** Each makes, for a limit, a function that consumes a unit of a key; `kind` is its origin. */
export const memoryContenders = {
  'Map by hand': { kind: 'floor', make: byHand },
  'sluice, consume': { kind: 'ours', make: inMemory },
  'sluice, synchronous': { kind: 'ours', make: synchronous },
  'sluice, consume, slidingWindow': {
    kind: 'ours',
    make: (options) => inMemory({ ...options, kind: 'slidingWindow' }),
  },
  'express-rate-limit': { kind: 'peer', make: expressRateLimit },
  '@fastify/rate-limit': { kind: 'peer', make: fastifyRateLimit },
  'rate-limiter-flexible': { kind: 'peer', make: rateLimiterFlexible },
  'koa-ratelimit': { kind: 'peer', make: koaRatelimit },
  '@nestjs/throttler': { kind: 'peer', make: nestThrottler },
};

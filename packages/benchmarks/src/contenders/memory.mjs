import LocalStore from '@fastify/rate-limit/store/LocalStore.js';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { MemoryStore } from 'express-rate-limit';
import KoaMemory from 'koa-ratelimit/limiter/memory.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { inMemory } from './sluice.mjs';
import { synchronous } from './sync.mjs';

const WINDOW_MS = 3_600_000;

/** The least that could be called a limit: a count and an instant in a Map, without any of the rest. */
function byHand({ limit }) {
  const counts = new Map();
  const take = (key) => {
    const now = Date.now();
    let entry = counts.get(key);
    if (entry === undefined || entry.endMs <= now) counts.set(key, (entry = { used: 0, endMs: now + WINDOW_MS }));
    return ++entry.used <= limit;
  };
  return { isSync: true, take, refuses: (allowed) => !allowed };
}

function expressRateLimit({ limit }) {
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS });
  return { take: (key) => store.increment(key), refuses: ({ totalHits }) => totalHits > limit };
}

function fastifyRateLimit({ limit, mostKeys }) {
  const store = new LocalStore(false, false, mostKeys);
  let answer;
  const keep = (_, entry) => (answer = entry);
  const take = (key) => {
    store.incr(key, keep, WINDOW_MS, limit);
    return answer;
  };
  return { isSync: true, take, refuses: ({ current }) => current > limit };
}

function rateLimiterFlexible({ limit }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
  const REFUSED = null;
  const refused = (reason) => {
    if (reason instanceof Error) throw reason;
    return REFUSED;
  };
  return { take: (key) => limiter.consume(key).catch(refused), refuses: (answer) => answer === REFUSED };
}

function koaRatelimit({ limit }) {
  const db = new Map();
  return {
    // As its middleware does: an object a request, which looks at the Map.
    take: (id) => new KoaMemory({ id, db, max: limit, duration: WINDOW_MS }).get(),
    refuses: ({ remaining }) => remaining === 0,
  };
}

function nestThrottler({ limit }) {
  const storage = new ThrottlerStorageService();
  return {
    take: (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, 'default'),
    refuses: ({ isBlocked }) => isBlocked,
  };
}

/** Each makes, for a limit, what takes a unit of a key's; `kind` says whose it is. */
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

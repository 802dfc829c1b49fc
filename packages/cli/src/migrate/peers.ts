/** What is known of a package that limits, besides how it is changed. */
export interface Peer {
  readonly name: string;
  /** The exports whose calls make a limiter. */
  readonly makers: readonly string[];
  /** Whether these are functions, or classes, or decorators. */
  readonly advice: string;
}

const GUIDE = 'docs/guides/coming-from-';

export const EXPRESS_RATE_LIMIT = 'express-rate-limit';

/** Packages that are listed. Only express-rate-limit is changed. */
export const PEERS: readonly Peer[] = [
  { name: EXPRESS_RATE_LIMIT, makers: ['default', 'rateLimit', '*'], advice: `${GUIDE}express-rate-limit.md` },
  {
    name: '@fastify/rate-limit',
    makers: ['default', '*', 'fastifyRateLimit'],
    advice: `keep it, and give it store: fastifyStore({ store: redisStore(...) }) of @sluice/compat/stores; or see ${GUIDE}fastify-rate-limit.md`,
  },
  {
    name: '@nestjs/throttler',
    makers: ['ThrottlerModule', 'Throttle', 'ThrottlerGuard'],
    advice: `keep it, and give it storage: new NestStorage({ store: redisStore(...) }) of @sluice/compat/stores; or see ${GUIDE}nestjs-throttler.md`,
  },
  {
    name: 'rate-limiter-flexible',
    makers: [
      'RateLimiterMemory',
      'RateLimiterRedis',
      'RateLimiterCluster',
      'RateLimiterMongo',
      'RateLimiterPostgres',
      'RateLimiterMySQL',
      'RateLimiterValkey',
      'RateLimiterUnion',
      'BurstyRateLimiter',
      'RateLimiterQueue',
    ],
    advice: `${GUIDE}rate-limiter-flexible.md`,
  },
  { name: 'koa-ratelimit', makers: ['default', '*'], advice: `${GUIDE}koa-ratelimit.md` },
  { name: '@upstash/ratelimit', makers: ['Ratelimit'], advice: `${GUIDE}upstash-ratelimit.md` },
];

/** Whether a text may import one of the packages. */
export function namesPeer(text: string): boolean {
  return PEERS.some(({ name }) => text.includes(name));
}

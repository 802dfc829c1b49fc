import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { LIMIT, WINDOW_MS, clientOf } from './settings.mjs';

/**
 * A limiter of rate-limiter-flexible, which leaves fields and answers to the application: sets the fields that ours has
 * with `set`, and calls `next` or `deny`.
 */
export function flexible(redisUrl) {
  const numbers = { points: LIMIT, duration: WINDOW_MS / 1000 };
  const limiter =
    redisUrl === undefined
      ? new RateLimiterMemory(numbers)
      : new RateLimiterRedis({ ...numbers, storeClient: clientOf(redisUrl) });
  return (address, set, next, deny) =>
    limiter.consume(address).then(
      (result) => {
        writeFields(set, result);
        return next();
      },
      (result) => {
        if (result instanceof Error) throw result; // no denial: the measurement ends
        writeFields(set, result);
        set('Retry-After', String(Math.ceil(result.msBeforeNext / 1000)));
        return deny();
      },
    );
}

function writeFields(set, { remainingPoints, msBeforeNext }) {
  set('RateLimit-Policy', `"default";q=${LIMIT};w=3600`);
  set('RateLimit', `"default";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`);
}

/** The body of an answer with status 429. */
export const DENIED = { error: 'too many requests' };

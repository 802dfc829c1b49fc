import { once } from 'node:events';
import { fixedWindow, redisStore } from '@sluice/core';
import { Redis } from 'ioredis';
import { RateLimiterMemory } from 'rate-limiter-flexible';

export const WINDOW_MS = 3_600_000;
export const BODY = { ok: true };
/** The body of an answer with status 429. */
export const DENIED = { error: 'too many requests' };

/** The options of all our servers: the algorithm of the peers, so that the work is the same. */
export function sluiceOptions(limit, redisUrl) {
  return {
    policy: fixedWindow({ limit, window: WINDOW_MS }),
    ...(redisUrl && {
      store: redisStore(new Redis(redisUrl), { prefix: 'sluice' }),
      onStoreError: 'deny',
      timeoutMs: 5_000,
    }),
  };
}

/** What an application may write itself, for a limit: gets an address, what sets a header field, and what to go on with. */
export const HANDS = {
  /** The two header fields of a limiter without one: what any limiter costs at least. */
  'by hand': (limit) => {
    let left = limit;
    return (_address, set, next) => {
      set('RateLimit-Policy', `"default";q=${limit};w=3600`);
      set('RateLimit', `"default";r=${--left};t=3600`);
      return next();
    };
  },
  /** It leaves fields and answers to the application: here with the fields that ours has. */
  'rate-limiter-flexible': (limit) => {
    const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
    const write = (set, { remainingPoints, msBeforeNext }) => {
      set('RateLimit-Policy', `"default";q=${limit};w=3600`);
      set('RateLimit', `"default";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`);
    };
    return (address, set, next, deny) =>
      limiter.consume(address).then(
        (result) => {
          write(set, result);
          return next();
        },
        (result) => {
          if (result instanceof Error) throw result;
          write(set, result);
          set('Retry-After', String(Math.ceil(result.msBeforeNext / 1000)));
          return deny();
        },
      );
  },
};

/** A server, once it listens. */
export async function listening(server) {
  if (!server.listening) await once(server, 'listening');
  return server;
}

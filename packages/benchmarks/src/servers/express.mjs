import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { rateLimit } from '@sluice/express';
import { BODY, LIMIT, WINDOW_MS, clientOf, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const middleware = {
  bare: () => undefined,
  'by hand': () => {
    const write = fieldsByHand();
    return (_request, response, next) => {
      write((name, value) => response.setHeader(name, value));
      next();
    };
  },
  sluice: (redisUrl) => rateLimit(sluiceOptions(redisUrl)),
  'express-rate-limit': (redisUrl) => {
    const client = redisUrl === undefined ? undefined : clientOf(redisUrl);
    return expressRateLimit({
      ...{ windowMs: WINDOW_MS, limit: LIMIT, standardHeaders: 'draft-8', legacyHeaders: false },
      ...(client === undefined ? {} : { store: new RedisStore({ sendCommand: (...words) => client.call(...words) }) }),
    });
  },
  'rate-limiter-flexible': (redisUrl) => {
    const numbers = { points: LIMIT, duration: WINDOW_MS / 1000 };
    const limiter =
      redisUrl === undefined
        ? new RateLimiterMemory(numbers)
        : new RateLimiterRedis({ ...numbers, storeClient: clientOf(redisUrl) });
    return (request, response, next) => {
      limiter.consume(request.ip).then(
        ({ remainingPoints, msBeforeNext }) => {
          response.setHeader('RateLimit-Policy', `"default";q=${LIMIT};w=3600`);
          response.setHeader('RateLimit', `"default";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`);
          next();
        },
        () => response.status(429).json({ error: 'too many requests' }),
      );
    };
  },
};

export async function serve({ contender, redisUrl, proxy }) {
  const app = express();
  if (proxy) app.set('trust proxy', 'loopback');
  const limiter = middleware[contender](redisUrl);
  if (limiter !== undefined) app.use(limiter);
  app.get('/', (_request, response) => {
    response.json(BODY);
  });
  return listening(app.listen(0, '127.0.0.1'));
}

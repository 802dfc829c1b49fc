import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { rateLimit } from '@sluice/express';
import { DENIED, flexible } from './flexible.mjs';
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
    const consume = flexible(redisUrl);
    return (request, response, next) => {
      const set = (name, value) => response.setHeader(name, value);
      void consume(request.ip, set, next, () => response.status(429).json(DENIED));
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

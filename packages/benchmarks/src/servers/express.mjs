import { rateLimit } from '@sluice/express';
import { rateLimit as dropIn } from '@sluice/compat/express-rate-limit';
import { redisStore } from '@sluice/core';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';
import { BODY, DENIED, fieldsByHand, flexible, portOf, sluiceOptions, WINDOW_MS } from './settings.mjs';

const numbers = ({ limit }) => ({ windowMs: WINDOW_MS, limit, standardHeaders: 'draft-8', legacyHeaders: false });

const middleware = {
  bare: () => undefined,
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return (_request, response, next) => {
      write((name, value) => response.setHeader(name, value));
      next();
    };
  },
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'express-rate-limit': (settings) => {
    const client = settings.redisUrl && new Redis(settings.redisUrl);
    const store = client && { store: new RedisStore({ sendCommand: (...words) => client.call(...words) }) };
    return expressRateLimit({ ...numbers(settings), ...store });
  },
  'the drop-in': (settings) => {
    const store = settings.redisUrl && { store: redisStore(new Redis(settings.redisUrl), { prefix: 'sluice' }) };
    return dropIn({ ...numbers(settings), ...store });
  },
  'rate-limiter-flexible': (settings) => {
    const consume = flexible(settings);
    return (request, response, next) => {
      const set = (name, value) => response.setHeader(name, value);
      void consume(request.ip, set, next, () => response.status(429).json(DENIED));
    };
  },
};

export function serve({ name, proxy, ...settings }) {
  const app = express();
  if (proxy) app.set('trust proxy', 'loopback');
  const limiter = middleware[name](settings);
  if (limiter) app.use(limiter);
  app.get('/', (_request, response) => void response.json(BODY));
  return portOf(app.listen(0, '127.0.0.1'));
}

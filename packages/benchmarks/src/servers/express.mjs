import { rateLimit } from '@sluice/express';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { BODY, DENIED, fieldsByHand, flexible, listening, sluiceOptions, WINDOW_MS } from './settings.mjs';

const middleware = {
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return (_request, response, next) => {
      write((name, value) => response.setHeader(name, value));
      next();
    };
  },
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'express-rate-limit': ({ limit }) =>
    expressRateLimit({ windowMs: WINDOW_MS, limit, standardHeaders: 'draft-8', legacyHeaders: false }),
  'rate-limiter-flexible': (settings) => {
    const consume = flexible(settings);
    return (request, response, next) => {
      const set = (name, value) => response.setHeader(name, value);
      void consume(request.ip, set, next, () => response.status(429).json(DENIED));
    };
  },
};

export function serve({ name, ...settings }) {
  const app = express();
  app.use(middleware[name](settings));
  app.get('/', (_request, response) => void response.json(BODY));
  return listening(app.listen(0, '127.0.0.1'));
}

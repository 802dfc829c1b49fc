import { rateLimit } from '@sluice/express';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { BODY, DENIED, HANDS, listening, sluiceOptions, WINDOW_MS } from './settings.mjs';

const middleware = {
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'express-rate-limit': ({ limit }) =>
    expressRateLimit({ windowMs: WINDOW_MS, limit, standardHeaders: 'draft-8', legacyHeaders: false }),
};

function written(decide) {
  return (request, response, next) => {
    const set = (name, value) => response.setHeader(name, value);
    void decide(request.ip, set, next, () => response.status(429).json(DENIED));
  };
}

export function serve({ name, ...settings }) {
  const app = express();
  app.use(middleware[name]?.(settings) ?? written(HANDS[name](settings)));
  app.get('/', (_request, response) => void response.json(BODY));
  return listening(app.listen(0, '127.0.0.1'));
}

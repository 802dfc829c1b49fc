import { rateLimit } from '@sluice/express';
import express from 'express';
import { rateLimit as expressRateLimit } from 'express-rate-limit';
import { BODY, DENIED, listening, WINDOW_MS } from './settings.mjs';

export const sluice = rateLimit;

export const peer = (limit) =>
  expressRateLimit({ windowMs: WINDOW_MS, limit, standardHeaders: 'draft-8', legacyHeaders: false });

export const written = (decide) => (request, response, next) => {
  const set = (name, value) => response.setHeader(name, value);
  void decide(request.ip, set, next, () => response.status(429).json(DENIED));
};

export function serve(limiter) {
  const app = express();
  app.use(limiter).get('/', (_request, response) => void response.json(BODY));
  return listening(app.listen(0, '127.0.0.1'));
}

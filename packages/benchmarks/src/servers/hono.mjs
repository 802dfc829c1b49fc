import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { fromNode, rateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { BODY, LIMIT, WINDOW_MS, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const middleware = {
  bare: () => undefined,
  'by hand': () => {
    const write = fieldsByHand();
    return (c, next) => {
      write((name, value) => c.header(name, value));
      return next();
    };
  },
  sluice: (redisUrl) => rateLimit({ ...sluiceOptions(redisUrl), address: fromNode }),
  'hono-rate-limiter': () =>
    rateLimiter({ windowMs: WINDOW_MS, limit: LIMIT, keyGenerator: (c) => c.env.incoming.socket.remoteAddress }),
};

export async function serve({ contender, redisUrl }) {
  const app = new Hono();
  const limiter = middleware[contender](redisUrl);
  if (limiter !== undefined) app.use(limiter);
  app.get('/', (c) => c.json(BODY));
  return listening(createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1'));
}

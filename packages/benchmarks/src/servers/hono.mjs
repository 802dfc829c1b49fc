import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { fromNode, fromProxy, rateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { BODY, fieldsByHand, portOf, sluiceOptions, WINDOW_MS } from './settings.mjs';

const addressOf = (c) => c.env.incoming.socket.remoteAddress;

const middleware = {
  bare: () => undefined,
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return (c, next) => {
      write((name, value) => c.header(name, value));
      return next();
    };
  },
  sluice: ({ proxy, ...settings }) =>
    rateLimit({ ...sluiceOptions(settings), address: proxy ? fromProxy(['127.0.0.0/8'], fromNode) : fromNode }),
  'hono-rate-limiter': ({ limit, proxy }) =>
    rateLimiter({
      windowMs: WINDOW_MS,
      limit,
      keyGenerator: (c) => (proxy ? c.req.header('x-forwarded-for') : addressOf(c)),
    }),
};

export function serve({ name, ...settings }) {
  const app = new Hono();
  const limiter = middleware[name](settings);
  if (limiter) app.use(limiter);
  app.get('/', (c) => c.json(BODY));
  return portOf(createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1'));
}

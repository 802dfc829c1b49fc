import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { fromNode, rateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { BODY, DENIED, HANDS, listening, sluiceOptions, WINDOW_MS } from './settings.mjs';

const addressOf = (c) => c.env.incoming.socket.remoteAddress;

const middleware = {
  sluice: (settings) => rateLimit({ ...sluiceOptions(settings), address: fromNode }),
  'hono-rate-limiter': ({ limit }) => rateLimiter({ windowMs: WINDOW_MS, limit, keyGenerator: addressOf }),
};

function written(decide) {
  return (c, next) => {
    const set = (name, value) => c.header(name, value);
    return decide(addressOf(c), set, next, () => c.json(DENIED, 429));
  };
}

export function serve({ name, ...settings }) {
  const app = new Hono();
  app.use(middleware[name]?.(settings) ?? written(HANDS[name](settings)));
  app.get('/', (c) => c.json(BODY));
  return listening(createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1'));
}

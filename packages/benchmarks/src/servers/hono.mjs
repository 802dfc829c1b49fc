import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { fromNode, rateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { BODY, DENIED, listening, WINDOW_MS } from './settings.mjs';

const addressOf = (c) => c.env.incoming.socket.remoteAddress;

export const sluice = (options) => rateLimit({ ...options, address: fromNode });

export const peer = (limit) => rateLimiter({ windowMs: WINDOW_MS, limit, keyGenerator: addressOf });

export const written = (decide) => (c, next) => {
  const set = (name, value) => c.header(name, value);
  return decide(addressOf(c), set, next, () => c.json(DENIED, 429));
};

export function serve(limiter) {
  const app = new Hono();
  app.use(limiter).get('/', (c) => c.json(BODY));
  return listening(createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1'));
}

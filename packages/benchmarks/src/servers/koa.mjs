import { rateLimit } from '@sluice/koa';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import { BODY, DENIED, listening, WINDOW_MS } from './settings.mjs';

export const sluice = rateLimit;

export const peer = (limit) => koaRatelimit({ duration: WINDOW_MS, max: limit, driver: 'memory', db: new Map() });

export const written = (decide) => (ctx, next) => {
  const set = (name, value) => ctx.set(name, value);
  return decide(ctx.ip, set, next, () => Object.assign(ctx, { status: 429, body: DENIED }));
};

export function serve(limiter) {
  const app = new Koa();
  app.use(limiter).use((ctx) => {
    ctx.body = BODY;
  });
  return listening(app.listen(0, '127.0.0.1'));
}

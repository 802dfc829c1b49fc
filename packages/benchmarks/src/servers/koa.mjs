import { rateLimit } from '@sluice/koa';
import { Redis } from 'ioredis';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import { BODY, DENIED, fieldsByHand, flexible, portOf, sluiceOptions, WINDOW_MS } from './settings.mjs';

const middleware = {
  bare: () => undefined,
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return (ctx, next) => {
      write((name, value) => ctx.set(name, value));
      return next();
    };
  },
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'koa-ratelimit': ({ limit, redisUrl }) =>
    koaRatelimit({
      ...{ duration: WINDOW_MS, max: limit },
      ...(redisUrl ? { driver: 'redis', db: new Redis(redisUrl) } : { driver: 'memory', db: new Map() }),
    }),
  'rate-limiter-flexible': (settings) => {
    const consume = flexible(settings);
    return (ctx, next) => {
      const set = (name, value) => ctx.set(name, value);
      return consume(ctx.ip, set, next, () => Object.assign(ctx, { status: 429, body: DENIED }));
    };
  },
};

export function serve({ name, proxy, ...settings }) {
  const app = new Koa({ proxy });
  const limiter = middleware[name](settings);
  if (limiter) app.use(limiter);
  app.use((ctx) => {
    ctx.body = BODY;
  });
  return portOf(app.listen(0, '127.0.0.1'));
}

import { rateLimit } from '@sluice/koa';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import { BODY, DENIED, fieldsByHand, flexible, listening, sluiceOptions, WINDOW_MS } from './settings.mjs';

const middleware = {
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return (ctx, next) => {
      write((name, value) => ctx.set(name, value));
      return next();
    };
  },
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'koa-ratelimit': ({ limit }) => koaRatelimit({ duration: WINDOW_MS, max: limit, driver: 'memory', db: new Map() }),
  'rate-limiter-flexible': (settings) => {
    const consume = flexible(settings);
    return (ctx, next) => {
      const set = (name, value) => ctx.set(name, value);
      return consume(ctx.ip, set, next, () => Object.assign(ctx, { status: 429, body: DENIED }));
    };
  },
};

export function serve({ name, ...settings }) {
  const app = new Koa();
  app.use(middleware[name](settings));
  app.use((ctx) => {
    ctx.body = BODY;
  });
  return listening(app.listen(0, '127.0.0.1'));
}

import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import { rateLimit } from '@sluice/koa';
import { DENIED, flexible } from './flexible.mjs';
import { BODY, LIMIT, WINDOW_MS, clientOf, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const middleware = {
  bare: () => undefined,
  'by hand': () => {
    const write = fieldsByHand();
    return (ctx, next) => {
      write((name, value) => ctx.set(name, value));
      return next();
    };
  },
  sluice: (redisUrl) => rateLimit(sluiceOptions(redisUrl)),
  'koa-ratelimit': (redisUrl) =>
    koaRatelimit({
      ...{ duration: WINDOW_MS, max: LIMIT },
      ...(redisUrl === undefined ? { driver: 'memory', db: new Map() } : { driver: 'redis', db: clientOf(redisUrl) }),
    }),
  'rate-limiter-flexible': (redisUrl) => {
    const consume = flexible(redisUrl);
    return (ctx, next) => {
      const set = (name, value) => ctx.set(name, value);
      const deny = () => {
        ctx.status = 429;
        ctx.body = DENIED;
      };
      return consume(ctx.ip, set, next, deny);
    };
  },
};

export async function serve({ contender, redisUrl, proxy }) {
  const app = new Koa({ proxy });
  const limiter = middleware[contender](redisUrl);
  if (limiter !== undefined) app.use(limiter);
  app.use((ctx) => {
    ctx.body = BODY;
  });
  return listening(app.listen(0, '127.0.0.1'));
}

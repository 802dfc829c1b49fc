import { rateLimit } from '@sluice/koa';
import Koa from 'koa';
import koaRatelimit from 'koa-ratelimit';
import { BODY, DENIED, HANDS, listening, sluiceOptions, WINDOW_MS } from './settings.mjs';

const middleware = {
  sluice: (settings) => rateLimit(sluiceOptions(settings)),
  'koa-ratelimit': ({ limit }) => koaRatelimit({ duration: WINDOW_MS, max: limit, driver: 'memory', db: new Map() }),
};

function written(decide) {
  return (ctx, next) => {
    const set = (name, value) => ctx.set(name, value);
    return decide(ctx.ip, set, next, () => Object.assign(ctx, { status: 429, body: DENIED }));
  };
}

export function serve({ name, ...settings }) {
  const app = new Koa();
  app.use(middleware[name]?.(settings) ?? written(HANDS[name](settings)));
  app.use((ctx) => {
    ctx.body = BODY;
  });
  return listening(app.listen(0, '127.0.0.1'));
}

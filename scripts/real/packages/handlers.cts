import web = require('@sluice/web');
import hono = require('@sluice/web/hono');
import framework = require('hono');

const limit: web.RateLimit = web.rateLimit({ limit: 1, window: '1m', address: web.fromDeno });
export const handler: unknown = limit.handle((request: Request) => new Response(request.url));
export const app: framework.Hono = new framework.Hono();
app.use(hono.rateLimit({ limit: 1, window: '1m', address: hono.fromBun() }));

import { serve } from '@hono/node-server';
import { fromNode, rateLimit } from '@sluice/web/hono';
import { collectMetrics } from '@sluice/core/metrics';
import { Hono } from 'hono';
import { register } from 'prom-client';
import { metricsCount, threeRequests } from './limited.mjs';

collectMetrics();
const app = new Hono();
app.use(rateLimit({ limit: 2, window: '1m', address: fromNode }));
app.get('/', (c) => c.text('ok'));
const port = await new Promise((resolve) => {
  serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, (info) => resolve(info.port));
});
await threeRequests(port);
await metricsCount(register);
process.exit(0);

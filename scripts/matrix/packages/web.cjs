const { serve } = require('@hono/node-server');
const { fromNode, rateLimit } = require('@sluice/web/hono');
const { collectMetrics } = require('@sluice/core/metrics');
const { Hono } = require('hono');
const { register } = require('prom-client');

collectMetrics();
const app = new Hono();
app.use(rateLimit({ limit: 2, window: '1m', address: fromNode }));
app.get('/', (c) => c.text('ok'));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, async ({ port }) => {
  const { metricsCount, threeRequests } = await import('./limited.mjs');
  await threeRequests(port);
  await metricsCount(register);
  process.exit(0);
});

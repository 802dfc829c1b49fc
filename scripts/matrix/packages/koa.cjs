const Koa = require('koa');
const { rateLimit } = require('@sluice/koa');
const { register } = require('prom-client');
const { collectMetrics } = require('@sluice/core/metrics');

async function main() {
  const { metricsCount, threeRequests } = await import('./limited.mjs');
  collectMetrics();
  const app = new Koa();
  app.use(rateLimit({ limit: 2, window: '1m' }));
  app.use((ctx) => {
    ctx.body = 'ok';
  });
  const server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
  });
  await threeRequests(server.address().port);
  await metricsCount(register);
  process.exit(0);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

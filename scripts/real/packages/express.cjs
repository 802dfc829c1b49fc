const express = require('express');
const { rateLimit } = require('@sluice/express');
const { register } = require('prom-client');
const { collectMetrics } = require('@sluice/core/metrics');

async function main() {
  const { listening, metricsCount, threeRequests } = await import('./limited.mjs');
  collectMetrics();
  const app = express();
  app.use(rateLimit({ limit: 2, window: '1m' }));
  app.get('/', (request, response) => response.send('ok'));
  await threeRequests(await listening(app));
  await metricsCount(register);
  process.exit(0);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

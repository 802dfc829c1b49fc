const Fastify = require('fastify');
const { sluice } = require('@sluice/fastify');
const { register } = require('prom-client');
const { collectMetrics } = require('@sluice/core/metrics');

async function main() {
  const { metricsCount, threeRequests } = await import('./limited.mjs');
  collectMetrics();
  const app = Fastify();
  await app.register(sluice, { limit: 2, window: '1m' });
  app.get('/', () => 'ok');
  await app.listen({ port: 0, host: '127.0.0.1' });
  await threeRequests(app.server.address().port);
  await metricsCount(register);
  process.exit(0);
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

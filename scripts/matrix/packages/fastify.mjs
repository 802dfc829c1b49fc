import Fastify from 'fastify';
import { sluice } from '@sluice/fastify';
import { register } from 'prom-client';
import { collectMetrics } from '@sluice/core/metrics';
import { metricsCount, threeRequests } from './limited.mjs';

collectMetrics();
const app = Fastify();
await app.register(sluice, { limit: 2, window: '1m' });
app.get('/', () => 'ok');
await app.listen({ port: 0, host: '127.0.0.1' });
await threeRequests(app.server.address().port);
await metricsCount(register);
process.exit(0);

import express from 'express';
import { rateLimit } from '@sluice/express';
import { register } from 'prom-client';
import { collectMetrics } from '@sluice/core/metrics';
import { metricsCount, threeRequests } from './limited.mjs';

collectMetrics();
const app = express();
app.use(rateLimit({ limit: 2, window: '1m' }));
app.get('/', (request, response) => response.send('ok'));
const server = await new Promise((resolve) => {
  const listening = app.listen(0, '127.0.0.1', () => resolve(listening));
});
await threeRequests(server.address().port);
await metricsCount(register);
process.exit(0);

import express from 'express';
import { rateLimit } from '@sluice/express';
import { register } from 'prom-client';
import { collectMetrics } from '@sluice/core/metrics';
import { listening, metricsCount, threeRequests } from './limited.mjs';

collectMetrics();
const app = express();
app.use(rateLimit({ limit: 2, window: '1m' }));
app.get('/', (request, response) => response.send('ok'));
await threeRequests(await listening(app));
await metricsCount(register);
process.exit(0);

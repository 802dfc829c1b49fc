import express from 'express';
import { byUser, createLimiter, fixedWindow, rateLimit, type Decision } from '@sluice/express';
import { redisStore, type Policy } from '@sluice/core';
import { createEnforcer } from '@sluice/core/http';
import { inspectKey, type KeyReport } from '@sluice/core/inspect';
import { collectMetrics } from '@sluice/express/metrics';
import { remoteStore } from '@sluice/core/remote';

const policy: Policy = fixedWindow({ limit: 1, window: '1m' });
const limiter = createLimiter({ limits: [{ name: 'per-ip', policy }] });
const decision: Decision = await limiter.consume({ 'per-ip': 'a' });
// @ts-expect-error The limit has another name.
await limiter.consume({ 'per-up': 'a' });
// @ts-expect-error A window is a duration.
rateLimit({ limit: 1, window: 'soon' });
const app = express();
app.use(rateLimit({ limit: 1, window: '1m', key: byUser((request) => request.get('x-user')) }), (request, response) => {
  response.json(request.rateLimit?.decision.remaining ?? decision.remaining);
});
const report: KeyReport = inspectKey('sluice:{a}:api:2f', '', decision.atMs);
const stop: () => void = collectMetrics({ prefix: 'limits_' });
export const used: readonly unknown[] = [report, stop, redisStore, createEnforcer, remoteStore];

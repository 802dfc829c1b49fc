import express from 'express';
import { byUser, createLimiter, fixedWindow, rateLimit, type Decision } from '@sluice/express';
import { memoryStore, redisStore, remoteStore, transactionStore, type Policy } from '@sluice/core';
import { limitRequests } from '@sluice/core/http';
import { collectMetrics } from '@sluice/core/metrics';
import { LimiterCore } from '@sluice/core/spi';
import { describeStore, expectLimited } from '@sluice/core/testing';
import * as runner from 'node:test';

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
const stop: () => void = collectMetrics({ prefix: 'limits_' });
describeStore('in memory', (clock) => memoryStore({ clock }), runner);
await expectLimited(app, { limit: 1, path: '/' });
await expectLimited((request: Request) => new Response(request.url), { limit: 1 });
// @ts-expect-error The option has another name.
await expectLimited(app, { limits: 1 });
export const used: readonly unknown[] = [stop, redisStore, transactionStore, limitRequests, LimiterCore, remoteStore];

import express from 'express';
import { byUser, createLimiter, fixedWindow, rateLimit, type Decision } from '@sluice/express';
import { memoryStore, redisStore, type Policy } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import { inspectKey, type KeyReport } from '@sluice/old-core/inspect';
import { collectMetrics } from '@sluice/old-core/metrics';
import { keysOf, performRequest } from '@sluice/old-core/spi';
import { remoteStore } from '@sluice/remote';
import { describeStore, expectLimited, fakeClock, redisStoreWithClock } from '@sluice/old-testing';
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
const report: KeyReport = inspectKey('sluice:{a}:api:2f', '', decision.atMs, { prefix: 'sluice' });
const stop: () => void = collectMetrics({ prefix: 'limits_' });
describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) }, runner);
await expectLimited(app, { limit: 1, path: '/' });
await expectLimited((request: Request) => new Response(request.url), { limit: 1 });
// @ts-expect-error The option has another name.
await expectLimited(app, { limits: 1 });
await limiter.resetAll();
redisStoreWithClock('redis://localhost', fakeClock(), { prefix: 'sluice' });
export const used: readonly unknown[] = [report, stop, redisStore, createEnforcer, remoteStore, keysOf, performRequest];

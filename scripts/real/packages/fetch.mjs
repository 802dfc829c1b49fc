// A program for every runtime: a limiter in memory, as its own limits and under Express.
import assert from 'node:assert/strict';
import express from 'express';
import { createLimiter, fixedWindow, rateLimit } from '@sluice/express';
import { listening, threeRequests } from './limited.mjs';

const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });
assert.equal((await limiter.consume('a')).allowed, true);
assert.equal((await limiter.consume('a')).allowed, false);
const app = express();
app.use(rateLimit({ limit: 2, window: '1m' }));
app.get('/', (request, response) => response.send('ok'));
await threeRequests(await listening(app));
process.exit(0);

// Counts the functions of ours that one warm decision executes, by V8's precise coverage of what is built: one of many
// identical requests, from the call of the program to its decision or the end of its response. From the root, after `npm run build`:
//
//   node packages/benchmarks/src/functions.mjs          the counts
//   node packages/benchmarks/src/functions.mjs --list   and the functions, with how often each was called
import { once } from 'node:events';
import { get } from 'node:http';
import { Session } from 'node:inspector/promises';
import express from 'express';
import { createLimiter, redisStore, fixedWindow } from '@sluice/core';
import { rateLimit } from '@sluice/express';
import { Redis } from 'ioredis';
import { startServer } from './redis.mjs';

/** More than the requests in which settings of proxies are looked for. */
const WARM = 250;
const OURS = /packages\/(core|express)\/dist\//;
const policy = () => fixedWindow({ limit: 1000, window: '1h' });

const session = new Session();
session.connect();
await session.post('Profiler.enable');

const redis = await startServer();
const client = new Redis(redis.url);
const cases = {
  memory: () => asked(createLimiter({ policy: policy() })),
  Redis: () =>
    asked(createLimiter({ name: 'functions', policy: policy(), store: redisStore(client, { prefix: 'sluice' }) })),
  'Express in memory': () => requested(rateLimit({ policy: policy() })),
  'Express on Redis': () =>
    requested(rateLimit({ name: 'http', policy: policy(), store: redisStore(client, { prefix: 'sluice' }) })),
};
for (const [name, begin] of Object.entries(cases)) {
  const { request, end } = await begin();
  for (let i = 0; i < WARM; i++) await request();
  const called = await coverageOf(() => settled(request));
  console.log(`${name}: ${called.length} functions`);
  if (process.argv.includes('--list'))
    for (const { name, file, count } of called) console.log(`  ${count} ${name} (${file})`);
  end();
}
client.disconnect();
await redis.end();

function asked(limiter) {
  return { request: () => limiter.consume('ann'), end: () => undefined };
}

async function requested(handler) {
  const app = express().set('trust proxy', 1).use(handler);
  app.get('/', (_request, response) => void response.json({ ok: true }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  const request = async () => {
    const [response] = await once(get({ port: server.address().port, headers }), 'response');
    await once(response.resume(), 'end');
    if (response.statusCode !== 200) throw new Error(`the server answers ${response.statusCode}`);
  };
  return { request, end: () => void server.close() };
}

/** With what follows a decision in later turns of the event loop, such as the work when a response has ended. */
async function settled(request) {
  await request();
  for (let i = 0; i < 3; i++) await new Promise((resolve) => void setImmediate(resolve));
}

async function coverageOf(run) {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  return result
    .filter(({ url }) => OURS.test(url))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => ranges[0].count > 0)
        .map(({ functionName, ranges }) => ({
          name: functionName || 'anonymous',
          file: url.replace(/.*packages\//, ''),
          count: ranges[0].count,
        })),
    );
}

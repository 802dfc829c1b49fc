// Sends an access log, request by request, to an application of each framework and a fetch handler, over HTTP and with the log's instants as the
// store's clock, and compares every decision with that of `sluice simulate`. Run `npm run build` first.
//
//   node packages/simulate/scripts/beside-adapters.mjs access.log
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { byAll, byIp } from '@sluice/http';
import { escalate, fixedWindow, memoryStore, slidingWindow, tokenBucket } from '@sluice/core';

const SLUICE = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));
const [log] = process.argv.slice(2);
if (log === undefined) {
  console.error('usage: node packages/simulate/scripts/beside-adapters.mjs <access log>');
  process.exit(2);
}
const requireOf = (name) => createRequire(new URL(`../../${name}/package.json`, import.meta.url));
const clock = { atMs: 0, now: () => clock.atMs };

/** The same limits, as the command takes them and as an application writes them. */
const limits = [
  ['fixedWindow --limit 30 --window 1m', { policy: fixedWindow({ limit: 30, window: '1m' }), key: byIp() }],
  ['slidingWindow --limit 30 --window 1m', { policy: slidingWindow({ limit: 30, window: '1m' }), key: byIp() }],
  [
    'tokenBucket --capacity 15 --refill 1 --every 3s --escalate 10,5m,1h',
    {
      policy: tokenBucket({ capacity: 15, refill: 1, every: '3s' }),
      key: byIp(),
      escalate: escalate({ after: 10, block: '5m', decay: '1h' }),
    },
  ],
  [
    'slidingWindow --limit 30 --window 1m --name own + tokenBucket --capacity 100 --refill 100 --every 1m --name all --key all',
    {
      limits: [
        { name: 'own', policy: slidingWindow({ limit: 30, window: '1m' }), key: byIp() },
        { name: 'all', policy: tokenBucket({ capacity: 100, refill: 100, every: '1m' }), key: byAll() },
      ],
    },
  ],
];

const starts = { express, fastify, koa, nestjs, web, hono };
const lines = readFileSync(log, 'latin1').split('\n');
const decided = limits.map(([text]) => simulated(text));
let failed = false;
for (const [name, start] of Object.entries(starts)) {
  for (const [i, [text, options]] of limits.entries()) {
    const { port, close } = await start({ name: 'simulated', ...options, store: memoryStore({ clock }) });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    let [denied, different] = [0, 0];
    for (const { line, atMs, allowed } of decided[i]) {
      clock.atMs = atMs;
      const isAllowed = await send(agent, port, lines[line - 1].split(' ', 1)[0]);
      if (!isAllowed) denied++;
      if (isAllowed !== allowed) different++;
    }
    agent.destroy();
    await close();
    failed ||= different > 0;
    console.log(`${name}: ${text}: ${decided[i].length} requests, ${denied} denied, ${different} decisions differ`);
  }
}
process.exit(failed ? 1 : 0);

function simulated(policy) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-simulated-'));
  try {
    const file = join(folder, 'decisions');
    const { status, stderr } = spawnSync(
      process.execPath,
      [SLUICE, 'simulate', log, '--policy', policy, '--decisions', file],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function send(agent, port, address) {
  const request = http.get({ agent, port, host: '127.0.0.1', path: '/', headers: { 'X-Forwarded-For': address } });
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200 && response.statusCode !== 429) throw new Error(`status ${response.statusCode}`);
  return response.statusCode === 200;
}

async function listening(server) {
  if (!server.listening) await once(server, 'listening');
  return { port: server.address().port, close: () => new Promise((resolve) => server.close(resolve)) };
}

async function express(options) {
  const app = requireOf('express')('express')().set('trust proxy', 'loopback');
  const { rateLimit } = await import('@sluice/express');
  app.use(rateLimit(options), (_request, response) => response.end());
  return listening(app.listen(0, '127.0.0.1'));
}

async function koa(options) {
  const Koa = requireOf('koa')('koa');
  const { rateLimit } = await import('@sluice/koa');
  const app = new Koa({ proxy: true });
  app.use(rateLimit(options)).use((context) => (context.body = 'ok'));
  return listening(app.listen(0, '127.0.0.1'));
}

async function fastify(options) {
  const app = requireOf('fastify')('fastify')({ trustProxy: 'loopback' });
  const { sluice } = await import('@sluice/fastify');
  await app.register(sluice, options);
  app.get('/', () => 'ok');
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
}

async function nestjs(options) {
  const require = requireOf('nestjs');
  require('reflect-metadata');
  const { Controller, Get, Module } = require('@nestjs/common');
  const { NestFactory } = require('@nestjs/core');
  const { RateLimitModule } = require('@sluice/nestjs');
  class AppController {
    get() {
      return 'ok';
    }
  }
  Get()(AppController.prototype, 'get', Object.getOwnPropertyDescriptor(AppController.prototype, 'get'));
  Controller()(AppController);
  class AppModule {}
  Module({ imports: [RateLimitModule.forRoot(options)], controllers: [AppController] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  app.set('trust proxy', 'loopback');
  await app.listen(0, '127.0.0.1');
  return { port: app.getHttpServer().address().port, close: () => app.close() };
}

async function web(options) {
  const { fromNode, fromProxy, rateLimit } = await import('@sluice/web');
  const limit = rateLimit({ ...options, address: fromProxy(['127.0.0.1'], fromNode) });
  return served(limit.handle(() => new Response('ok')));
}

async function hono(options) {
  const { Hono } = requireOf('web')('hono');
  const { fromNode, fromProxy, rateLimit } = await import('@sluice/web/hono');
  const app = new Hono();
  app
    .use(rateLimit({ ...options, address: fromProxy(['127.0.0.1'], fromNode) }))
    .get('/', (context) => context.text('ok'));
  return served(app.fetch);
}

async function served(fetch) {
  const { createAdaptorServer } = await import('@hono/node-server');
  return listening(createAdaptorServer({ fetch }).listen(0, '127.0.0.1'));
}

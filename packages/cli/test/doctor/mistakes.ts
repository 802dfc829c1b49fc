/** A small application, and the mistakes that are planted in it: `file:line rule`. */
export interface Planted {
  readonly files: Readonly<Record<string, string>>;
  readonly mistakes: readonly string[];
}

export const MISTAKES: Readonly<Record<string, Planted>> = {
  'a limiter for every request': {
    files: {
      'app.js': `import express from 'express';
import { rateLimit } from '@sluice/express';

const app = express();
app.get('/search', (req, res, next) => rateLimit({ limit: 10, window: '1m' })(req, res, next));
app.get('/quotes', (req, res) => res.json([]));
app.listen(3000);
`,
    },
    mistakes: ['app.js:5 limiter-per-request'],
  },
  'a limiter for every request, in a function that a handler calls': {
    files: {
      'app.ts': `import { Hono } from 'hono';
import { createLimiter, slidingWindow } from '@sluice/core';

const limiterOf = (plan: string) => {
  const limit = plan === 'paid' ? 1000 : 100;
  return createLimiter({ policy: slidingWindow({ limit, window: '1h' }) });
};

export const app = new Hono();
app.post('/orders', async (c) => {
  const { allowed } = await limiterOf(c.get('plan')).consume(c.get('user'));
  return allowed ? c.json([]) : c.text('later', 429);
});
`,
    },
    mistakes: ['app.ts:6 limiter-per-request'],
  },
  'a store for every request': {
    files: {
      'server.cjs': `const { createServer } = require('node:http');
const { createLimiter, fixedWindow, redisStore } = require('@sluice/core');

createServer(async (req, res) => {
  const store = redisStore(process.env.REDIS_URL);
  const limiter = createLimiter({ store, policy: fixedWindow({ limit: 5, window: '1m' }) });
  const { allowed } = await limiter.consume(req.headers.authorization ?? '-');
  res.writeHead(allowed ? 200 : 429).end();
}).listen(3000);
`,
    },
    mistakes: ['server.cjs:5 store-per-request', 'server.cjs:6 limiter-per-request'],
  },
  'a proxy that Express does not trust': {
    files: {
      'nginx.conf': 'server { location / { proxy_pass http://app:3000; } }\n',
      'src/app.ts': `import express from 'express';
import { limit } from './limits.js';

export const app = express();
app.use(limit);
`,
      'src/limits.ts': `import { rateLimit } from '@sluice/express';

export const limit = rateLimit({ limit: 100, window: '1m' });
`,
    },
    mistakes: ['src/app.ts:4 proxy-not-trusted'],
  },
  'a proxy in Compose that Fastify does not trust': {
    files: {
      'compose.yaml': 'services:\n  edge:\n    image: traefik:v3\n  app:\n    build: .\n',
      'server.mjs': `import Fastify from 'fastify';
import sluice from '@sluice/fastify';

const app = Fastify({ logger: true });
await app.register(sluice, { limit: 100, window: '1m' });
await app.listen({ port: 3000 });
`,
    },
    mistakes: ['server.mjs:4 proxy-not-trusted'],
  },
  'addresses of the connection behind an Ingress': {
    files: {
      'k8s/ingress.yml': 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: api }\n',
      'index.ts': `import { fromNode, rateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';

export const app = new Hono().use(rateLimit({ limit: 60, window: '1m', address: fromNode }));
`,
    },
    mistakes: ['index.ts:4 proxy-not-trusted'],
  },
  'every proxy is trusted': {
    files: {
      'app.js': `const express = require('express');
const { rateLimit } = require('@sluice/express');

const app = express();
app.set('trust proxy', true);
app.use(rateLimit({ limit: 100, window: '1m' }));
module.exports = app;
`,
      'koa.mjs': `import Koa from 'koa';
import { rateLimit } from '@sluice/koa';

const app = new Koa();
app.proxy = true;
app.use(rateLimit({ limit: 100, window: '1m' }));
`,
    },
    mistakes: ['app.js:5 proxy-trusts-all', 'koa.mjs:5 proxy-trusts-all'],
  },
  'a number of proxies in Fastify': {
    files: {
      'app.ts': `import Fastify from 'fastify';
import sluice from '@sluice/fastify';

const options = { trustProxy: 1 };
export const app = Fastify(options);
await app.register(sluice, { limit: 100, window: '1m' });
`,
    },
    mistakes: ['app.ts:5 proxy-hop-count'],
  },
  'memory under node:cluster': {
    files: {
      'main.js': `import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';

if (cluster.isPrimary) for (let i = 0; i < availableParallelism(); i++) cluster.fork();
else await import('./app.js');
`,
      'app.js': `import express from 'express';
import { byUser, rateLimit } from '@sluice/express';

export const app = express();
app.use(rateLimit({ limit: 100, window: '1m', key: byUser() }));
`,
    },
    mistakes: ['app.js:5 memory-of-each-process'],
  },
  'memory under PM2': {
    files: {
      'ecosystem.config.cjs':
        "module.exports = { apps: [{ script: 'app.js', instances: 'max', exec_mode: 'cluster' }] };\n",
      'app.mjs': `import { createLimiter, fixedWindow, memoryStore } from '@sluice/core';

const common = { store: memoryStore(), timeoutMs: 50 };
export const jobs = createLimiter({ ...common, policy: fixedWindow({ limit: 5, window: '1m' }) });
`,
    },
    mistakes: ['app.mjs:4 memory-of-each-process'],
  },
  'memory in several replicas': {
    files: {
      'deploy/app.yaml':
        'kind: Deployment\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n        - { name: app, image: registry.example/shop/api:1 }\n',
      'src/app.module.ts': `import { Module } from '@nestjs/common';
import { RateLimitModule, byUser } from '@sluice/nestjs';

@Module({ imports: [RateLimitModule.forRoot({ limit: 100, window: '1m', key: byUser() })] })
export class AppModule {}
`,
    },
    mistakes: ['src/app.module.ts:4 memory-of-each-process'],
  },
  'a key that the client writes': {
    files: {
      'app.js': `import express from 'express';
import { byHeader, rateLimit } from '@sluice/express';

const app = express();
app.set('trust proxy', 'loopback');
app.use(rateLimit({ name: 'all', limit: 100, window: '1m', key: (req) => req.headers['x-forwarded-for'] ?? req.socket.remoteAddress }));
app.post('/feedback', rateLimit({ name: 'feedback', limit: 5, window: '1h', key: byHeader('User-Agent') }));
`,
    },
    mistakes: ['app.js:6 key-chosen-by-client', 'app.js:6 key-raw-address', 'app.js:7 key-chosen-by-client'],
  },
  'a key of the body, unchecked': {
    files: {
      'login.ts': `import { byIp, rateLimit } from '@sluice/express';
import { Router, json } from 'express';

const login = rateLimit({
  name: 'login',
  limits: [
    { name: 'ip', limit: 20, window: '1m', key: byIp() },
    { name: 'account', limit: 5, window: '1m', key: ({ body }) => body?.email },
  ],
});
export const router = Router().post('/login', json(), login);
`,
    },
    mistakes: ['login.ts:8 key-unchecked'],
  },
  'a key that returns nothing': {
    files: {
      'app.js': `import Koa from 'koa';
import { rateLimit } from '@sluice/koa';

const app = new Koa({ proxy: true, maxIpsCount: 1 });
app.use(
  rateLimit({
    limit: 100,
    window: '1m',
    key: (ctx) => {
      ctx.state.user.id;
    },
  }),
);
`,
    },
    mistakes: ['app.js:9 key-missing'],
  },
  'functions that are not called': {
    files: {
      'app.js': `import express from 'express';
import * as sluice from '@sluice/express';
import { byUser, fixedWindow, rateLimit, redisStore } from '@sluice/express';

const app = express();
app.use(rateLimit);
app.use('/api', rateLimit({ name: 'api', policy: sluice.fixedWindow, key: byUser(), store: redisStore(process.env.REDIS_URL) }));
app.use('/me', rateLimit({ name: 'me', policy: fixedWindow({ limit: 1, window: '1s' }), key: byUser }));
`,
    },
    mistakes: ['app.js:6 not-called', 'app.js:7 not-called', 'app.js:8 not-called'],
  },
  'seconds where milliseconds are meant': {
    files: {
      'app.js': `import { byUser, rateLimit, slidingWindow } from '@sluice/koa';

export const all = rateLimit({ name: 'all', limit: 100, window: 60, key: byUser() });
export const day = rateLimit({ name: 'day', policy: slidingWindow({ limit: 1000, window: 24 * 60 * 60 }), key: byUser() });
`,
    },
    mistakes: ['app.js:3 unit-missing', 'app.js:4 unit-missing'],
  },
  'plans without names': {
    files: {
      'plans.js': `import { fixedWindow } from '@sluice/express';

export const plans = {
  free: fixedWindow({ limit: 10, window: '1m' }),
  paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
};
`,
      'app.js': `import { byUser, rateLimit } from '@sluice/express';
import { plans } from './plans.js';

export const orders = rateLimit({ policy: (req) => plans[req.user.plan] ?? plans.free, key: byUser() });
`,
    },
    mistakes: ['plans.js:4 policy-unnamed'],
  },
  'two limiters of one name': {
    files: {
      'app.js': `import { byUser, rateLimit, redisStore } from '@sluice/express';

const store = redisStore(process.env.REDIS_URL);
export const search = rateLimit({ limit: 10, window: '1m', key: byUser(), store });
export const orders = rateLimit({ limit: 50, window: '1m', key: byUser(), store });
`,
    },
    mistakes: ['app.js:5 name-taken'],
  },
  'a decision that is not read': {
    files: {
      'limiter.ts': `import { createLimiter, fixedWindow } from '@sluice/core';

export const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1m' }) });
`,
      'jobs.ts': `import { limiter } from './limiter.ts';

export async function send(user: string, mail: () => Promise<void>): Promise<void> {
  await limiter.consume(user);
  await mail();
}
`,
    },
    mistakes: ['jobs.ts:4 decision-ignored'],
  },
  'a decision that is read before it is there': {
    files: {
      'jobs.js': `const { createLimiter, fixedWindow } = require('@sluice/core');

const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1m' }) });
exports.send = (user, mail) => {
  if (limiter.consume(user).allowed) mail();
};
exports.sendAll = (user, mail) => {
  const { allowed } = limiter.consume(user);
  if (allowed) mail();
};
`,
    },
    mistakes: ['jobs.js:5 decision-not-awaited', 'jobs.js:8 decision-not-awaited'],
  },
};

/** A small application, and what `sluice migrate` says of it. */
export interface Fixture {
  readonly files: Readonly<Record<string, string>>;
  /** Where its limiters are. */
  readonly limiters: readonly string[];
  /** By target, the files that change; those that are left have a reason instead. */
  readonly dropIn: Outcome;
  readonly sluice: Outcome;
}

export interface Outcome {
  readonly changed?: readonly string[];
  /** By place, a part of the reason. */
  readonly left?: Readonly<Record<string, string>>;
}

/** Tests an application: `listen(app)`, then two requests are allowed and the third one is denied. */
const CHECK = (from: string, path = '/'): string => `import assert from 'node:assert/strict';
import { once } from 'node:events';
${from}
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const statuses = [];
for (let i = 0; i < 3; i++) statuses.push((await fetch(\`http://127.0.0.1:\${server.address().port}${path}\`)).status);
server.closeAllConnections();
server.close();
assert.deepEqual(statuses, [200, 200, 429]);
`;
const ESM = CHECK("import { app } from './app.mjs';");
const CJS = CHECK("import app from './app.cjs';");
const manifest = `{
  "name": "fixture",
  "dependencies": {
    "express": "^5.0.0",
    "express-rate-limit": "^8.0.0"
  }
}
`;
const CHANGED = ['app.mjs', 'package.json'];

export const FIXTURES: Readonly<Record<string, Fixture>> = {
  'default-import': {
    files: {
      'package.json': manifest,
      'app.mjs': `import express from 'express';
import rateLimit from 'express-rate-limit';

export const app = express();
app.use(rateLimit({ windowMs: 15 * 60 * 1000, limit: 2, standardHeaders: 'draft-7', legacyHeaders: false }));
app.get('/', (req, res) => res.send('good'));
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:5'],
    dropIn: { changed: CHANGED },
    sluice: { changed: CHANGED },
  },
  'renamed-import': {
    files: {
      'package.json': manifest,
      'app.mjs': `import express from "express"
import { rateLimit as limiter } from "express-rate-limit"

export const app = express()
app.use(limiter({ max: 2, statusCode: 429, skip: (req) => req.path === '/health' }))
app.get('/', (req, res) => res.send('good'))
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:5'],
    dropIn: { changed: CHANGED },
    sluice: { changed: CHANGED },
  },
  'common-js': {
    files: {
      'package.json': manifest,
      'app.cjs': `const express = require('express');
const rateLimit = require('express-rate-limit');

const app = express();
const limit = rateLimit({
  windowMs: 60000,
  max: 2,
});
app.use(limit);
app.get('/', (req, res) => res.send('good'));
module.exports = app;
`,
      'check.mjs': CJS,
    },
    limiters: ['app.cjs:5'],
    dropIn: { changed: ['app.cjs', 'package.json'] },
    sluice: { changed: ['app.cjs', 'package.json'] },
  },
  'destructured-require': {
    files: {
      'app.cjs': `const express = require('express');
const { rateLimit } = require('express-rate-limit');

const app = express();
app.use('/none', rateLimit());
app.use(rateLimit({ limit: 2, keyGenerator: () => 'all', skipFailedRequests: true }));
app.get('/', (req, res) => res.send('good'));
module.exports = app;
`,
      'check.mjs': CJS,
    },
    limiters: ['app.cjs:5', 'app.cjs:6'],
    dropIn: { changed: ['app.cjs'] },
    sluice: { changed: ['app.cjs'] },
  },
  typescript: {
    files: {
      'package.json': manifest,
      'limits.ts': `import { rateLimit, type Options, type RateLimitRequestHandler } from 'express-rate-limit';

const shared: Partial<Options> = { windowMs: 60_000, standardHeaders: true };

export function limitOf(limit: number): RateLimitRequestHandler {
  return rateLimit({ ...shared, limit });
}
`,
      'app.ts': `import express from 'express';
import { limitOf } from './limits.js';

export const app = express();
app.use(limitOf(2));
app.get('/', (_req, res) => void res.send('good'));
`,
      'check.mjs': CHECK("import { app } from './built/app.js';"),
    },
    limiters: ['limits.ts:6'],
    dropIn: { changed: ['limits.ts', 'package.json'] },
    sluice: { left: { 'limits.ts:1': 'more than the function' } },
  },
  'options-from-elsewhere': {
    files: {
      'app.mjs': `import express from 'express';
import rateLimit from 'express-rate-limit';

const options = { limit: 2 };
export const app = express();
app.use(rateLimit(options));
app.get('/', (req, res) => res.send('good'));
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:6'],
    dropIn: { changed: ['app.mjs'] },
    sluice: { left: { 'app.mjs:6': 'not written at its call' } },
  },
  'handler-and-limit-function': {
    files: {
      'app.mjs': `import express from 'express';
import rateLimit, { ipKeyGenerator } from 'express-rate-limit';

export const app = express();
app.use(
  rateLimit({
    limit: (req) => (req.get('x-plan') === 'pro' ? 100 : 2),
    keyGenerator: (req) => req.get('x-user') ?? ipKeyGenerator(req.ip),
    handler: (req, res, next, options) => res.status(options.statusCode).json({ used: req.rateLimit.used }),
  }),
);
app.get('/', (req, res) => res.send('good'));
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:6'],
    dropIn: { changed: ['app.mjs'] },
    sluice: { left: { 'app.mjs:2': 'more than the function' } },
  },
  'an-option-without-counterpart': {
    files: {
      'app.mjs': `import express from 'express';
import rateLimit from 'express-rate-limit';

export const app = express();
app.use(rateLimit({ limit: 2, message: { error: 'slow down' } }));
app.get('/', (req, res) => res.send('good'));
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:5'],
    dropIn: { changed: ['app.mjs'] },
    sluice: { left: { 'app.mjs:5': 'the option message' } },
  },
  'a-store-of-its-own': {
    files: {
      'app.mjs': `import express from 'express';
import * as erl from 'express-rate-limit';

class Loud extends erl.MemoryStore {
  async increment(key) {
    return super.increment(key.toUpperCase());
  }
}

export const app = express();
app.use(erl.rateLimit({ limit: 2, store: new Loud() }));
app.get('/', (req, res) => res.send('good'));
`,
      'check.mjs': ESM,
    },
    limiters: ['app.mjs:11'],
    dropIn: { changed: ['app.mjs'] },
    sluice: { left: { 'app.mjs:2': 'more than the function' } },
  },
  'internals-of-a-store': {
    files: {
      'app.mjs': `import rateLimit, { MemoryStore } from 'express-rate-limit';

export const store = new MemoryStore();
export const limit = rateLimit({ store });
export const clients = () => [...store.current.keys()];
`,
    },
    limiters: ['app.mjs:4'],
    dropIn: { left: { 'app.mjs:5': 'interval, current or previous' } },
    sluice: { left: { 'app.mjs:1': 'more than the function' } },
  },
  'a-mock': {
    files: {
      'app.test.js': `const rateLimit = require('express-rate-limit');

jest.mock('express-rate-limit', () => () => (req, res, next) => next());
test('is mocked', () => expect(rateLimit({ limit: 1 })).toBeDefined());
`,
    },
    limiters: ['app.test.js:4'],
    dropIn: { left: { 'app.test.js:3': 'where nothing is imported' } },
    sluice: { left: { 'app.test.js:3': 'where nothing is imported' } },
  },
  'other-packages': {
    files: {
      'nest.ts': `import { Module } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';

@Module({ imports: [ThrottlerModule.forRoot([{ ttl: 60_000, limit: 10 }])] })
export class AppModule {}
`,
      'fastify.mjs': `import Fastify from 'fastify';
import limits from '@fastify/rate-limit';

const app = Fastify();
await app.register(limits, { max: 100 });
`,
      'flexible.cjs': `const { RateLimiterMemory } = require('rate-limiter-flexible');

module.exports = new RateLimiterMemory({ points: 5, duration: 1 });
`,
      'broken.js': "import limit from 'koa-ratelimit';\nconst = ;",
    },
    limiters: ['fastify.mjs:5', 'flexible.cjs:3', 'nest.ts:4'],
    dropIn: { left: { 'broken.js:1': 'cannot be read' } },
    sluice: { left: { 'broken.js:1': 'cannot be read' } },
  },
};

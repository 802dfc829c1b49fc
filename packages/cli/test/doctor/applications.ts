/** Applications without a mistake, as users write them: what is unusual in them is right. */
export const APPLICATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a shop on Express, in CommonJS, with a limiter for each tenant that is kept': {
    'package.json': '{ "name": "shop", "scripts": { "start": "pm2 start src/server.js -i 4" } }',
    'nginx.conf': 'server { location / { proxy_pass http://127.0.0.1:3000; } }\n',
    'src/limits.js': `const { rateLimit, redisStore, byIp, byUser, fixedWindow } = require('@sluice/express');

const store = redisStore(process.env.REDIS_URL, { prefix: 'shop' });
const common = { store, timeoutMs: 200, headers: 'draft-7' };

const emailOf = (req) => (typeof req.body?.email === 'string' ? req.body.email.trim().toLowerCase() : '');
const plans = {
  free: fixedWindow({ name: 'free', limit: 100, window: '1h' }),
  paid: fixedWindow({ name: 'paid', limit: 5000, window: '1h' }),
};

exports.api = rateLimit({ ...common, name: 'api', policy: (req) => plans[req.user?.plan ?? 'free'], key: byUser() });
exports.login = rateLimit({
  ...common,
  name: 'login',
  limits: [
    { name: 'ip', policy: fixedWindow({ limit: 20, window: '5m' }), key: byIp() },
    { name: 'account', policy: fixedWindow({ limit: 5, window: '5m' }), key: emailOf, onMissingKey: 'deny' },
  ],
  refund: 'on-success',
});

const tenants = new Map();
exports.tenant = (req, res, next) => {
  const { id, limit } = req.tenant;
  let limiter = tenants.get(id);
  if (!limiter) {
    limiter = rateLimit({ ...common, name: 'tenant-' + id, limit, window: '1m', key: () => id });
    tenants.set(id, limiter);
  }
  limiter(req, res, next);
};
`,
    'src/server.js': `const express = require('express');
const { api, login, tenant } = require('./limits');

const app = express();
app.set('trust proxy', ['loopback']);
app.use(express.json());
app.post('/login', login, (req, res) => res.json({}));
app.use('/api', tenant, api);
app.get('/lookup', (req, res) => res.json(req.headers['x-forwarded-for'] ? 'proxied' : 'direct'));
app.listen(3000);
`,
  },
  'an API on Fastify, with plugins and a limit on a later hook': {
    'docker-compose.yml':
      'services:\n  proxy: { image: caddy:2 }\n  api:\n    build: .\n    deploy: { replicas: 4 }\n  redis: { image: "redis:7", scale: 2 }\n',
    'src/app.ts': `import Fastify, { type FastifyInstance } from 'fastify';
import sluice, { byUser, concurrency, redisStore, slidingWindow } from '@sluice/fastify';

export async function build(url = process.env.REDIS_URL ?? 'redis://localhost'): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: process.env.PROXIES?.split(',') ?? ['10.0.0.0/8'], logger: true });
  await app.register(sluice, { store: redisStore(url), limit: 300, window: '1m' });
  await app.register(reports, { prefix: '/reports' });
  app.get('/health', { config: { rateLimit: false } }, () => 'well');
  return app;
}

async function reports(scope: FastifyInstance): Promise<void> {
  const running = scope.rateLimit({ name: 'running', policy: concurrency({ limit: 2, ttl: '1m' }), key: byUser() });
  scope.addHook('preHandler', running);
  scope.get('/', { config: { rateLimit: { name: 'report', policy: slidingWindow({ limit: 5, window: '1h' }) } } }, () => []);
}
`,
    'src/main.ts': `import { build } from './app.js';

const app = await build();
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '0.0.0.0' });
`,
    'test/app.test.ts': `import { createLimiter, fixedWindow } from '@sluice/core';
it('denies', async () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: 60 }) });
  await limiter.consume('ann');
});
`,
  },
  'a worker that waits, reserves and releases': {
    'worker.ts': `import { concurrency, createLimiter, redisStore, tokenBucket } from '@sluice/core';

const store = redisStore(process.env['REDIS_URL']!);
const partner = createLimiter({ name: 'partner', store, policy: tokenBucket({ capacity: 10, refill: 10, every: 1_000 }) });
const slots = createLimiter({ name: 'slots', store, policy: concurrency({ limit: 4, ttl: '30s' }) });
const tokens = createLimiter({ name: 'tokens', store, policy: tokenBucket({ capacity: 5000, refill: 100, every: '1s' }) });

export async function work(job: { user: string; prompt: string }, ask: (prompt: string) => Promise<number>): Promise<void> {
  await partner.wait('partner', { maxWaitMs: 60_000 });
  const { decision, settle, cancel } = await tokens.reserve(job.user, job.prompt.length);
  if (!decision.allowed) return;
  try {
    await settle(await slots.run(job.user, () => ask(job.prompt)));
  } catch (error) {
    await cancel();
    throw error;
  }
}

export const isAllowed = (user: string) => tokens.consume(user).then(({ allowed }) => allowed);
export const pending = ['ann', 'bob'].map((user) => tokens.consume(user));
const [decided] = await Promise.all(pending);
if (!decided?.allowed) console.log('later');
void tokens.charge('ann', 5);
`,
  },
  'an application of Next.js and Hono behind a platform': {
    'vercel.json': '{ "framework": "nextjs" }',
    'fly.toml': 'app = "notes"\n',
    'lib/limits.ts': `import { byHeader, byIp, byRoute, fromProxy, fromNode, rateLimit, redisStore, type RateLimit } from '@sluice/web';

const address = fromProxy(['172.16.0.0/12'], fromNode);
const store = redisStore(process.env.REDIS_URL!);
export const reads = rateLimit({ name: 'reads', limit: 60, window: '1m', key: [byIp(), byRoute()], routes: ['/notes/:id'], address, store });
export const partners = rateLimit({ name: 'partners', limit: 600, window: '1m', key: byHeader('x-api-key'), address, store });

let lazy: RateLimit | undefined;
export const writes = (): RateLimit => (lazy ??= rateLimit({ name: 'writes', limit: 10, window: '1m', address, store }));
`,
    'app/notes/route.ts': `import { reads, writes } from '../../lib/limits';

export const GET = reads.handle(() => Response.json([]));
export async function POST(request: Request): Promise<Response> {
  const { response } = await writes().check(request);
  return response ?? Response.json({}, { status: 201 });
}
`,
  },
  'NestJS on Fastify, with options from its configuration': {
    'k8s.yaml':
      'kind: Deployment\nspec:\n  replicas: 2\n  template: { spec: { containers: [{ image: "nginx:1" }] } }\n---\nkind: Ingress\nmetadata: { name: web }\n',
    'src/main.ts': `import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module';

const adapter = new FastifyAdapter({ trustProxy: '10.0.0.0/8' });
const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter);
await app.listen(3000, '0.0.0.0');
`,
    'src/app.module.ts': `import { Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { RateLimitModule, redisStore, slidingWindow } from '@sluice/nestjs';
import { Orders } from './orders.controller';

@Module({
  imports: [
    RateLimitModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        store: redisStore(config.getOrThrow('REDIS_URL')),
        policy: slidingWindow({ limit: config.getOrThrow('LIMIT'), window: '1m' }),
      }),
    }),
  ],
  controllers: [Orders],
})
export class AppModule {}
`,
    'src/orders.controller.ts': `import { Controller, Get, Post, Req } from '@nestjs/common';
import { RateLimit, byUser, fixedWindow } from '@sluice/nestjs';

const keyOf = ({ user }: { user?: { id?: string } }) => user?.id;

@Controller('orders')
@RateLimit({ policy: fixedWindow({ limit: 100, window: '1h' }), key: byUser() })
export class Orders {
  @Get()
  list() {
    return [];
  }

  @Post()
  @RateLimit({ policy: fixedWindow({ limit: 5, window: '1m' }), key: keyOf, onMissingKey: 'deny' })
  create(@Req() request: unknown) {
    return request;
  }
}
`,
  },
};

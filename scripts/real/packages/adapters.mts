import Fastify from 'fastify';
import Koa from 'koa';
import { reportToOpenTelemetry } from '@sluice/core/opentelemetry';
import sluice, { byUser } from '@sluice/fastify';
import { rateLimit } from '@sluice/koa';
import { createPolicies, managed } from '@sluice/core/managed';
import { RateLimitModule } from '@sluice/nestjs';
import { pollMembership, splitStore } from '@sluice/core/split';

const limit = { limit: 1, window: '1m' } as const;
const app = Fastify();
await app.register(sluice, { ...limit, key: byUser((request) => request.id) });
app.get(
  '/',
  { onRequest: app.rateLimit(limit), config: { rateLimit: false } },
  (request) => request.rateLimit?.decision.remaining,
);
new Koa()
  .use(rateLimit({ ...limit, key: (ctx) => ctx.ip }))
  .use((ctx) => (ctx.body = ctx.state.rateLimit?.decision.remaining));
RateLimitModule.forRoot(limit);
const stop: () => void = reportToOpenTelemetry();
stop();
splitStore({ membership: pollMembership({ id: 'a', members: () => ({ a: 1 }) }) });
const policies = createPolicies({ load: () => Promise.resolve({}) });
rateLimit({ policy: managed('orders'), app: 'shop', policies });

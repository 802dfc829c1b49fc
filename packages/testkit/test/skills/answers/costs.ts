import sluice, { type RouteLimitOptions } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';

export async function createApp(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(sluice, {});
  const mails: RouteLimitOptions = {
    name: 'mails',
    hook: 'preHandler',
    limit: 10,
    window: '1m',
    cost: (request) => (request.body as readonly string[]).length,
  };
  app.post('/mails', { config: { rateLimit: mails } }, (request) => (request.body as readonly string[]).length);
  return app;
}

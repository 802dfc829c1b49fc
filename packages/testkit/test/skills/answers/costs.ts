import sluice, { slidingWindow } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';

export async function createApp(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(sluice, {});
  const mails = {
    name: 'mails',
    policy: slidingWindow({ limit: 10, window: '1m' }),
    hook: 'preHandler' as const,
    cost: (request: { readonly body: unknown }) => (Array.isArray(request.body) ? request.body.length : 1),
  };
  app.post('/mails', { config: { rateLimit: mails } }, (request) => (request.body as readonly string[]).length);
  return app;
}

import sluice, { fixedWindow } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';

export async function createApp(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(sluice, { limit: 100, window: '1m' });
  app.get('/', () => 'good');
  const report = app.rateLimit({ name: 'report', policy: fixedWindow({ limit: 1, window: '1h' }) });
  app.get('/report', { onRequest: report }, () => 'report');
  app.get('/health', { config: { rateLimit: false } }, () => 'well');
  return app;
}

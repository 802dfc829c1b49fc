import { rateLimit, type RateLimitOptions, type Store } from '@sluice/web/hono';
import { Hono } from 'hono';

/**
 * The service.
 *
 * @param address - How the runtime names the client: `fromNode`, `fromBun()`, `fromDeno`; on Workers the header
 *   `cf-connecting-ip`, which Cloudflare sets.
 */
export function createApp(address: RateLimitOptions['address'], store: Store): Hono {
  const shared = { address, store };
  const app = new Hono();
  // All routes together, 404s included.
  app.use(rateLimit({ ...shared, name: 'service', limit: 60, window: '1m' }));
  app.get('/', (c) => c.text('hello\n'));

  // A good login takes nothing: only failures count.
  const failures = rateLimit({ ...shared, name: 'login', limit: 3, window: '15m', refund: 'on-success' });
  app.post('/login', failures, (c) => c.body(null, c.req.header('x-password') === 'right' ? 204 : 401));
  return app;
}

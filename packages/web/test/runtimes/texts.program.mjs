// Serves texts on Bun or Deno, some of them by a handler whose limit follows the body, and prints the type of each.
import { byAll, concurrency, rateLimit } from '@sluice/web';
import { rateLimit as honoRateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';

const { Bun, Deno, Response } = globalThis;
const slots = { policy: concurrency({ limit: 9, ttl: '1m' }), key: byAll() };
const text = () => new Response('<b>hello</b>');
const hono = new Hono().get('/hono', honoRateLimit({ name: 'hono', ...slots }), (c) => c.text('<b>hello</b>'));
const handlers = { plain: text, limited: rateLimit({ name: 'web', ...slots }).handle(text), hono: hono.fetch };
const answer = (request) => handlers[new URL(request.url).pathname.slice(1)](request);

const port =
  Bun === undefined
    ? Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => undefined }, answer).addr.port
    : Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer }).port;

const types = {};
for (const name of Object.keys(handlers)) {
  const { headers } = await fetch(`http://127.0.0.1:${port}/${name}`);
  types[name] = headers.get('content-type')?.toLowerCase().replaceAll(' ', '');
}
console.log(JSON.stringify(types));
process.exit();

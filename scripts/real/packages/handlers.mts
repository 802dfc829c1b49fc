import {
  byUser,
  fixedWindow,
  fromNode,
  rateLimit,
  type Checked,
  type KeyByLimit,
  type RateLimitOptions,
} from '@sluice/web';
import * as hono from '@sluice/web/hono';
import { collectMetrics } from '@sluice/core/metrics';
import { Hono } from 'hono';

const options: RateLimitOptions = { limit: 1, window: '1m', address: fromNode };
const limit = rateLimit(options);
export const handler: (request: Request, params: { readonly id: string }) => Promise<Response> | Response =
  limit.handle(async (request: Request, { id }: { readonly id: string }) => {
    return Response.json([id, request.rateLimit?.decision.remaining, await limit.keyFor(request)]);
  });
const checked: Checked = await limit.check(new Request('http://localhost/'));
export const headers: Headers | undefined = checked.response === undefined ? checked.headers : checked.response.headers;
// @ts-expect-error The option has another name.
rateLimit({ limit: 1, window: '1m', adress: fromNode });

const plans = rateLimit({
  address: fromNode,
  deniedHeaders: (request) => ({ 'Access-Control-Allow-Origin': request.headers.get('origin') ?? '' }),
  routes: ['/users/:id'],
  limits: [
    {
      name: 'per-user',
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byUser(({ headers }) => headers.get('x-user')),
    },
  ],
});
export const key: string | undefined = (await plans.keyFor<KeyByLimit>(new Request('http://localhost/')))['per-user'];

const app = new Hono<{ Variables: { user: { id: string } } }>();
app.use(hono.rateLimit({ limit: 1, window: '1m', address: fromNode, key: hono.byUser((c) => c.req.header('x-user')) }));
app.get('/:id', hono.rateLimit({ limit: 1, window: '1m', key: hono.byAll() }), (c) =>
  c.text(String(c.var.rateLimit?.decision.remaining)),
);
// @ts-expect-error Hono knows the routes.
hono.rateLimit({ limit: 1, window: '1m', address: fromNode, routes: ['/users/:id'] });

collectMetrics();

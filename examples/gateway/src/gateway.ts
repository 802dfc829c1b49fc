import proxy from '@fastify/http-proxy';
import sluice, { byIp, byRoute, fixedWindow, type Duration } from '@sluice/fastify';
import Fastify from 'fastify';
import { announce, onStop } from './role.ts';
import { createStore } from './store.ts';

// One of several gateways behind nginx: limits requests, and passes the rest on to the services.
const {
  NAME = 'gateway',
  HOST = '127.0.0.1',
  PORT = '3000',
  ORDERS_URL = 'http://127.0.0.1:3001',
  CATALOG_URL = 'http://127.0.0.1:3002',
  LIMIT = '20',
  WINDOW = '10s',
  SHARE = '1',
} = process.env;

const app = Fastify({
  // From nginx alone X-Forwarded-For is believed, which writes into it whom it has a connection with.
  trustProxy: '127.0.0.1',
  // What nginx has sent when this gateway is told to end gets its answer, not a 503.
  return503OnClosing: false,
});

const { store, ready } = createStore(process.env);
const isStopping = onStop(async () => {
  await app.close();
  await store.close?.();
});

await app.register(sluice, {
  store,
  key: [byIp(), byRoute()],
  // While there is no store, each gateway counts for itself, and admits its part. So it does where an answer is late.
  timeoutMs: 1000,
  onStoreError: 'local',
  localShare: Number(SHARE),
});

// For the demonstration: who has decided, where the count was, and at which instant of the store's clock.
app.addHook('onSend', (request, reply, _payload, done) => {
  const decision = request.rateLimit?.decision;
  void reply.header('X-Gateway', NAME);
  if (decision !== undefined) void reply.headers({ 'X-Counted-In': decision.source, 'X-Decided-At': decision.atMs });
  done();
});

const policy = fixedWindow({ limit: Number(LIMIT), window: WINDOW as Duration, align: 'clock' });
for (const [service, upstream] of Object.entries({ orders: ORDERS_URL, catalog: CATALOG_URL })) {
  await app.register(async (scope) => {
    // A group: /orders and all that is below it are one route here, with one budget, although the proxy declares several.
    scope.addHook('onRequest', scope.rateLimit({ group: service, policy }));
    await scope.register(proxy, {
      upstream,
      prefix: `/${service}`,
      rewritePrefix: `/${service}`,
      // What a service answers is the client's. Unless told so, the proxy asks up to ten times more after a 503.
      retryMethods: [],
      // Not OPTIONS: the preflights of browsers are not counted, and so are not the services' to answer either.
      httpMethods: ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'],
      replyOptions: {
        onError: (reply, { error }) => {
          console.error(`${service} cannot be reached:`, error.message);
          void reply.code(502).send({ error: `${service} cannot be reached` });
        },
      },
    });
  });
}

app.get('/health', { config: { rateLimit: false } }, () => ({ gateway: NAME, ready: true }));

// nginx sends nothing to a gateway that does not listen. One that has no share of the limits yet would refuse everybody;
// but where nobody can tell, since Redis is away, it counts for itself.
await app.ready();
await ready().catch((error: unknown) => {
  if (!isStopping()) console.error(error);
});
if (!isStopping()) announce(await app.listen({ port: Number(PORT), host: HOST }));

import proxy from '@fastify/http-proxy';
import { consulMembership, redisMembership, splitStore } from '@sluice/core/split';
import sluice, { fixedWindow, redisStore, type Duration } from '@sluice/fastify';
import Fastify from 'fastify';

// One of several gateways behind nginx: limits requests, and forwards the allowed ones to the services.
const {
  NAME = 'gateway',
  HOST = '127.0.0.1',
  PORT = '3001',
  ORDERS_URL = 'http://127.0.0.1:4001',
  CATALOG_URL = 'http://127.0.0.1:4002',
  STORE = 'redis',
  REDIS_URL = 'redis://127.0.0.1:6379',
  CONSUL_HTTP_ADDR = '',
  LIMIT = '20',
  WINDOW = '10s',
  WEIGHT = '1',
  SHARE = '0.5',
} = process.env;
const prefix = 'sluice:example-gateway';
/** The grace time, a window of a minute, and some more. */
const READY_WITHIN_MS = 70_000;

const app = Fastify({
  // X-Forwarded-For is trusted from nginx alone, which sets it to the address of its client.
  trustProxy: '127.0.0.1',
  // Requests that arrive before this gateway ends get their response, not a 503.
  return503OnClosing: false,
});

// Split: a registry only holds the members and their weights: Redis by a heartbeat a second, or Consul, where each gateway is
// registered. The counts stay in the memory of each gateway.
const membership =
  CONSUL_HTTP_ADDR === ''
    ? redisMembership(REDIS_URL, { weight: Number(WEIGHT), prefix })
    : consulMembership({ address: CONSUL_HTTP_ADDR, service: 'gateways', id: NAME });
const split = STORE === 'split' ? splitStore({ membership }) : undefined;
const store = split ?? redisStore(REDIS_URL, { prefix });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void app.close().then(() => store.close?.()));

await app.register(sluice, {
  store,
  // While the store is away or late, each gateway counts by itself, and allows its part.
  timeoutMs: 1000,
  onStoreError: 'local',
  localShare: Number(SHARE),
});

// For the demonstration: the deciding gateway, the source of the count, and the instant by the store's clock.
app.addHook('onSend', (request, reply, _payload, done) => {
  const decision = request.rateLimit?.decision;
  void reply.header('X-Gateway', NAME);
  if (decision !== undefined) void reply.headers({ 'X-Counted-In': decision.source, 'X-Decided-At': decision.atMs });
  done();
});

const policy = fixedWindow({ limit: Number(LIMIT), window: WINDOW as Duration, align: 'clock' });
for (const [service, upstream] of Object.entries({ orders: ORDERS_URL, catalog: CATALOG_URL })) {
  await app.register(async (scope) => {
    // By address, as is the default: /orders and all paths below it have one budget.
    scope.addHook('onRequest', scope.rateLimit({ name: service, policy }));
    await scope.register(proxy, {
      upstream,
      prefix: `/${service}`,
      rewritePrefix: `/${service}`,
      // The client gets the service's own response. By default the proxy retries up to ten times after a 503.
      retryMethods: [],
      // Not OPTIONS: preflights of browsers do not reach the services.
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

// nginx sends nothing to a gateway that does not listen. One without a share of the limits would deny every request;
// but while Redis is away and shares are unknown, it counts by itself.
await app.ready();
await split?.ready(READY_WITHIN_MS).catch(console.error);
const url = await app.listen({ port: Number(PORT), host: HOST });
console.log(`Listening on ${url}. Try: curl -si ${url}/orders`);

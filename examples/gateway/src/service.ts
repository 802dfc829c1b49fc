import Fastify from 'fastify';

// A service behind the gateways: orders or catalog. It has no limits.
const { NAME = 'orders', HOST = '127.0.0.1', PORT = '4001' } = process.env;

let served = 0;
const app = Fastify();
app.addHook('onRequest', (request, _reply, done) => {
  if (request.url.startsWith(`/${NAME}`)) served++;
  done();
});
app.get(`/${NAME}`, (request) => ({ service: NAME, client: request.headers['x-forwarded-for'] ?? request.ip }));
app.get(`/${NAME}/:id`, ({ params }) => ({ service: NAME, ...(params as { id: string }) }));
// The gateways must forward it unchanged.
app.get(`/${NAME}/busy`, (_request, reply) => reply.code(503).header('Retry-After', '1').send({ service: NAME }));
// Not reachable through a gateway: the number of requests that came through.
app.get('/served', () => ({ served }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close());
const url = await app.listen({ port: Number(PORT), host: HOST });
console.log(`Listening on ${url}. Try: curl -si ${url}/${NAME}`);

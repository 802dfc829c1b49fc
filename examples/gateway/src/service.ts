import Fastify from 'fastify';
import { announce, onStop } from './role.ts';

// A service behind the gateways: orders or catalog. It has no limits.
const { NAME = 'orders', HOST = '127.0.0.1', PORT = '3001' } = process.env;

let served = 0;
const app = Fastify();
onStop(async () => app.close());

app.addHook('onRequest', (request, _reply, done) => {
  if (request.url.startsWith(`/${NAME}`)) served++;
  done();
});

app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
  done(null, body);
});

const answer = { service: NAME };
app.get(`/${NAME}`, (request) => ({ ...answer, client: request.headers['x-forwarded-for'] ?? request.ip }));
app.get(`/${NAME}/:id`, ({ params }) => ({ ...answer, ...(params as { id: string }) }));
app.post(`/${NAME}`, (_request, reply) => reply.code(201).send(answer));
// Responses that the gateways must forward unchanged.
app.get(`/${NAME}/broken`, (_request, reply) => reply.code(500).send({ ...answer, error: 'broken' }));
app.get(`/${NAME}/busy`, (_request, reply) => reply.code(503).header('Retry-After', '1').send(answer));
// Not reachable through a gateway: the number of requests that came through.
app.get('/served', () => ({ served }));

announce(await app.listen({ port: Number(PORT), host: HOST }));

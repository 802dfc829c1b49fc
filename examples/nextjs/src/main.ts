// Stands in for Next.js, which is large: it calls the functions that the two files export in the same way.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { GET, POST } from './app/api/orders/route.ts';
import { store } from './limits.ts';
import { proxy } from './proxy.ts';

const { HOST = '127.0.0.1', PORT = '3000' } = process.env;

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
server.listen(Number(PORT), HOST);
await once(server, 'listening');
const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
console.log(`Listening on ${url}: two new orders a minute, and 20 requests in all. Try, three times:
  curl -si ${url}/api/orders -H 'Content-Type: application/json' -d '{"item":"tea"}'`);

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = new Request(`${url}${incoming.url ?? '/'}`, {
    method: incoming.method ?? 'GET',
    // As Vercel does, whatever the client has sent.
    headers: {
      'content-type': incoming.headers['content-type'] ?? '',
      'x-real-ip': incoming.socket.remoteAddress ?? '',
    },
    ...(incoming.method === 'POST' && { body: await buffer(incoming) }),
  });
  const first = await proxy(request);
  const response = first.headers.has('x-middleware-next') ? await route(request, first) : first;
  outgoing.writeHead(response.status, [...response.headers] as never);
  outgoing.end(await response.text());
}

async function route(request: Request, { headers }: Response): Promise<Response> {
  const response = request.method === 'POST' ? await POST(request) : GET();
  for (const [name, value] of headers) if (name !== 'x-middleware-next') response.headers.set(name, value);
  return response;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void store.close?.());
    server.closeAllConnections();
  });
}

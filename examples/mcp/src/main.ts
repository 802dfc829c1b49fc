import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import { createMcpServer, limitResults } from './app.ts';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = '' } = process.env;
const store: Store = REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-mcp' });
const limited = limitResults(store);

const server = createServer((request, response) => {
  // Replace with your authentication: the client of a token.
  const token = /^Bearer (\w+)$/.exec(request.headers.authorization ?? '')?.[1] ?? 'anonymous';
  Object.assign(request, { auth: { token, clientId: token, scopes: [] } });
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  void createMcpServer(limited)
    .connect(transport as never)
    .then(() => transport.handleRequest(request, response));
});
server.listen(Number(PORT), HOST);
await once(server, 'listening');
const url = `http://${HOST}:${String((server.address() as AddressInfo).port)}`;
const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search', arguments: { words: 'sluice', results: 8 } },
};
console.log(`Listening on ${url}: ten results at once for every client, and two more a second. Try, twice:
  curl -s ${url}/mcp -H 'Accept: application/json, text/event-stream' -H 'Content-Type: application/json' -H 'Authorization: Bearer ann' -d '${JSON.stringify(call)}'`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => void store.close?.());
    server.closeAllConnections();
  });
}

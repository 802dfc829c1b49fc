// An HTTP server of the built package whose requests hold slots of one key until the test ends their responses.
//
// argv: the server's URL, the policy's options as JSON. Prints its port. A request for /end ends all others.
import { createServer } from 'node:http';
import { byAll } from '@sluice/old-http';
import { concurrency, redisStore } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import { Redis } from 'ioredis';

const [, , url, options] = process.argv;
const framework = {
  address: (request) => request.socket.remoteAddress,
  method: (request) => request.method,
  route: () => undefined,
  header: (request, name) => request.headers[name],
  user: () => undefined,
  rawRequest: (request) => request,
  rawResponse: (response) => response,
  getHeader: (response, name) => response.getHeader(name),
  setHeader: (response, name, value) => response.setHeader(name, value),
  removeHeader: (response, name) => response.removeHeader(name),
  setStatus: (response, status) => (response.statusCode = status),
  send: (response, body) => response.end(body),
  record: () => {},
};
const { enforcer } = createEnforcer(
  {
    name: 'held',
    policy: concurrency(JSON.parse(options)),
    key: byAll(),
    store: redisStore(new Redis(url), { prefix: 'sluice' }),
    onStoreError: 'throw',
    timeoutMs: 30_000,
  },
  framework,
);

const running = new Set();
const server = createServer((request, response) => {
  if (request.url === '/end') {
    for (const one of running) one.end();
    running.clear();
    response.end();
    return;
  }
  Promise.resolve(enforcer.enforce(request, response)).then(
    ({ denial }) => {
      response.writeHead(denial?.status ?? 200);
      if (denial !== undefined) return response.end();
      running.add(response);
      response.write('running'); // mid-request from here
    },
    (error) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));

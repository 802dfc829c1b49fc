import { once } from 'node:events';
import { createServer } from 'node:http';

/** A bare server that sets two header fields, as an allowed request gets them. */
export async function serve() {
  const server = createServer((_request, response) => {
    response.setHeader('RateLimit-Policy', '"orders";q=1000000000;w=3600');
    response.setHeader('RateLimit', '"orders";r=999999999;t=3600');
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: server.address().port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

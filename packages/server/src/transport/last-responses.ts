import type { RequestListener, Server, ServerResponse } from 'node:http';

const running = new WeakMap<Server, ReadonlySet<ServerResponse>>();

/** Records the responses of a server that have not been sent. */
export function trackResponses(server: Server, responses: ReadonlySet<ServerResponse>): void {
  running.set(server, responses);
}

/**
 * From now on every response is the last one of its connection, and says so to its client, which then sends the next
 * request elsewhere. A connection that simply ended could have a request on its way.
 */
export function endWithResponses(server: Server): void {
  for (const response of running.get(server) ?? []) {
    if (!response.headersSent) response.setHeader('connection', 'close');
  }
  const later: RequestListener = (_request, response) => {
    response.setHeader('connection', 'close');
  };
  server.prependListener('request', later);
}

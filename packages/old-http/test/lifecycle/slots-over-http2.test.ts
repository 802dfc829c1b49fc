import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter } from '@sluice/old-core';
import { createEnforcer, type Framework } from '@sluice/old-http/spi';
import { cases, until } from '@sluice/testkit';

const SLOTS = 5;
const TTL_MS = 2000;
const CONNECTIONS = Math.max(cases(300), 100);
const REQUESTS = 100;
/** A few seconds; longer on a slow, busy machine. */
const LONGEST_MS = 300_000;

/** Node's own HTTP/2, without a framework. */
const framework: Framework<Http2ServerRequest, Http2ServerResponse> = {
  address: ({ socket }) => socket.remoteAddress,
  method: ({ method }) => method,
  route: () => undefined,
  header: ({ headers }, name) => headers[name]?.toString(),
  user: () => undefined,
  rawRequest: (request) => request,
  rawResponse: (response) => response,
  getHeader: () => undefined,
  setHeader: () => undefined,
  removeHeader: () => undefined,
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    response.end(body);
  },
  record: () => undefined,
};

describe('the slots of requests over HTTP/2', () => {
  it(
    'are all free again when the attackers are gone, who dropped their connections at any moment',
    async () => {
      const limiter = createLimiter({ name: 'http2', policy: concurrency({ limit: SLOTS, ttl: TTL_MS }) });
      const { enforcer } = createEnforcer<Http2ServerRequest, Http2ServerResponse>(
        { limiter, key: () => 'all', headers: false },
        framework,
      );
      let allowed = 0;
      const server = createServer((request, response) => {
        request.on('error', () => undefined);
        response.on('error', () => undefined);
        enforcer.limitThen(request, response, () => {
          allowed++;
          response.end('hello');
        });
      });
      const sessions = new Set<ServerHttp2Session>();
      server.on('session', (session) => sessions.add(session));
      server.on('sessionError', () => undefined);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;

      try {
        // A process of its own: in this one, the server would notice each drop before anything else happens.
        const attackers = fork(new URL('../children/drop-streams.mjs', import.meta.url), [
          ...[port, CONNECTIONS, REQUESTS].map(String),
        ]);
        await once(attackers, 'exit');
        await until('the slots are free', async () => (await limiter.peek('all')).remaining === SLOTS);

        expect(allowed).toBeGreaterThan(0);
      } finally {
        for (const session of sessions) session.destroy();
        server.close();
        await limiter.close();
      }
    },
    LONGEST_MS,
  );
});

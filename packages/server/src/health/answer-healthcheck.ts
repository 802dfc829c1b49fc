import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Health } from './health.ts';

/** Answers `GET /healthcheck`, as envoyproxy/ratelimit does: 200 and `OK`, or 500. */
export function answerHealthcheck(health: Health, request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    return;
  }
  const fields = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };
  if (health.isServing) response.writeHead(200, fields).end('OK');
  else response.writeHead(500, fields).end('NOT SERVING');
}

import type { ServerResponse } from 'node:http';
import { sendText } from '../listeners/send.ts';
import type { Health } from './health.ts';

/** Answers `GET /healthcheck` as envoyproxy/ratelimit does: 200, or 500 when the service takes no requests. */
export function answerHealth(health: Health, response: ServerResponse): void {
  if (health.isServing) sendText(response, 200, 'OK');
  else sendText(response, 500, 'NOT SERVING');
}

import type { Route } from '../transport/http.ts';
import { sendText } from '../transport/send.ts';

export interface Health {
  /** Whether the service takes requests: false until the first configuration is loaded, and during shutdown. */
  isServing: boolean;
}

/** `/healthcheck`, as envoyproxy/ratelimit answers it: 200 and `OK`, or 500. */
export function makeHealthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    method: 'GET',
    isAlwaysServed: true,
    handle: (_request, response) => {
      const [status, text] = health.isServing ? [200, 'OK'] : [500, 'NOT SERVING'];
      sendText(response, status, text, undefined, { 'cache-control': 'no-store' });
    },
  };
}

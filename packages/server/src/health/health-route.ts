import type { Route } from '../transport/http.ts';
import { answerHealthcheck } from './answer-healthcheck.ts';
import type { Health } from './health.ts';

/** `/healthcheck`, which is answered also while all places are taken: a full service lives. */
export function healthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    place: 'never',
    handle: (request, response) => {
      answerHealthcheck(health, request, response);
    },
  };
}

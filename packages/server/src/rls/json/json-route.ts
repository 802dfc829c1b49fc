import type { ServerResponse } from 'node:http';
import type { Entrance } from '../../access.ts';
import { parseJson } from '../../transport/bodies.ts';
import type { Route } from '../../transport/http.ts';
import { sendText } from '../../transport/send.ts';
import { RequestProblem } from '../../transport/request-problem.ts';
import type { Service } from '../../service.ts';
import { makeResponse } from '../answer.ts';
import { decide } from '../decide.ts';
import { CallError, Status, type StatusCode } from '../../grpc/status.ts';
import { OK, type RateLimitResponse } from '../messages.ts';
import { readJsonRequest } from './read-request.ts';
import { formatResponse } from './write-response.ts';

/**
 * `POST /json`, as in envoyproxy/ratelimit: a `RateLimitRequest` as JSON, answered with a `RateLimitResponse`. 200 if
 * the request is allowed, 429 if it is denied.
 */
export function makeJsonRoute(service: Service, entrance: Entrance): Route {
  return {
    path: '/json',
    method: 'POST',
    readsBody: true,
    check: (request) => {
      service.access.check(request, entrance, false);
    },
    async handle(request, response, body) {
      try {
        const decided = await decide(service, readJsonRequest(parseJson(body)), {
          entrance,
          authorization: request.headers.authorization,
          endMs: undefined,
        });
        send(response, makeResponse(decided, service.stats));
      } catch (error) {
        throw describeProblem(error);
      }
    },
  };
}

function send(response: ServerResponse, answer: RateLimitResponse): void {
  const fields = Object.fromEntries(answer.responseHeadersToAdd.map(({ key, value }) => [key, value]));
  const status = answer.overallCode === OK ? 200 : 429;
  sendText(response, status, formatResponse(answer), 'application/json', { ...fields, 'cache-control': 'no-store' });
}

const STATUS_OF: Readonly<Partial<Record<StatusCode, 400 | 403 | 503>>> = {
  [Status.UNKNOWN]: 400,
  [Status.INVALID_ARGUMENT]: 400,
  [Status.PERMISSION_DENIED]: 403,
  [Status.RESOURCE_EXHAUSTED]: 503,
  [Status.UNAVAILABLE]: 503,
};

/** The message for the client. Errors that are not the client's stay as they are. */
function describeProblem(error: unknown): unknown {
  const status = error instanceof CallError ? STATUS_OF[error.code] : undefined;
  if (status === undefined) return error;
  return new RequestProblem(status, (error as CallError).message, {}, status === 503 ? { 'retry-after': '1' } : {});
}

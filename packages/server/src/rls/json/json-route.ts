import type { ServerResponse } from 'node:http';
import type { Entrance } from '../../access.ts';
import type { Route } from '../../transport/http.ts';
import { RequestProblem } from '../../transport/request-problem.ts';
import type { Service } from '../../service.ts';
import { responseOf } from '../answer.ts';
import { decide, type Decided } from '../decide.ts';
import { CallError, Status, type StatusCode } from '../../grpc/status.ts';
import { OK, type RateLimitResponse } from '../messages.ts';
import type { OverrideRules } from '../plan.ts';
import { requestOfJson } from './read-request.ts';
import { jsonOfResponse } from './write-response.ts';

export interface JsonRouteOptions {
  readonly entrance: Entrance;
  readonly overrides: OverrideRules;
  decided(decided: Decided): void;
}

const PATH = '/json';
/** Four times what 256 descriptors of the usual size take, in bytes. */
const LONGEST_BODY = 1024 * 1024;

/**
 * `POST /json`, as envoyproxy/ratelimit has it: a `RateLimitRequest` as JSON, answered with a `RateLimitResponse`. 200
 * where the request is allowed, 429 where it is denied.
 */
export function jsonRoute(service: Service, options: JsonRouteOptions): Route {
  return {
    path: PATH,
    method: 'POST',
    maxBody: LONGEST_BODY,
    check: (request) => {
      service.access.check(request, options.entrance, false);
    },
    async handle(request, response, body) {
      try {
        const decided = await decide(service, options.overrides, requestOfJson(parse(body)), {
          entrance: options.entrance,
          authorization: request.headers.authorization,
          endMs: undefined,
        });
        options.decided(decided);
        send(response, responseOf(decided));
      } catch (error) {
        throw problemOf(error);
      }
    },
  };
}

/** @throws CallError `INVALID_ARGUMENT`. */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch (error) {
    throw new CallError(Status.INVALID_ARGUMENT, `the body: expected JSON, got ${(error as Error).message}`);
  }
}

function send(response: ServerResponse, answer: RateLimitResponse): void {
  const body = jsonOfResponse(answer);
  response.writeHead(answer.overallCode === OK ? 200 : 429, {
    ...Object.fromEntries(answer.responseHeadersToAdd.map(({ key, value }) => [key, value])),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(body);
}

const STATUS_OF: Readonly<Partial<Record<StatusCode, 400 | 403 | 503>>> = {
  [Status.UNKNOWN]: 400,
  [Status.INVALID_ARGUMENT]: 400,
  [Status.PERMISSION_DENIED]: 403,
  [Status.RESOURCE_EXHAUSTED]: 503,
  [Status.UNAVAILABLE]: 503,
};

/** The message for the client. Errors that are not the client's stay as they are. */
function problemOf(error: unknown): unknown {
  const status = error instanceof CallError ? STATUS_OF[error.code] : undefined;
  if (status === undefined) return error;
  return new RequestProblem(status, (error as CallError).message, {}, status === 503 ? { 'retry-after': '1' } : {});
}

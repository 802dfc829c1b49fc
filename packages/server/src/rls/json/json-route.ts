import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Entrance } from '../../access.ts';
import type { Route } from '../../listeners/http.ts';
import { sendProblem } from '../../listeners/send.ts';
import type { Service } from '../../service.ts';
import { responseOf } from '../answer.ts';
import { decide, type Decided } from '../decide.ts';
import { CallError, Status, type StatusCode } from '../grpc/status.ts';
import { OK, type RateLimitResponse } from '../messages.ts';
import type { OverrideRules } from '../plan.ts';
import { Bodies, BodyError, type BodiesOptions } from './bodies.ts';
import { requestOfJson } from './read-request.ts';
import { jsonOfResponse } from './write-response.ts';

export interface JsonRouteOptions {
  readonly entrance: Entrance;
  readonly overrides: OverrideRules;
  readonly bodies?: BodiesOptions;
  decided(decided: Decided): void;
}

const PATH = '/json';

/**
 * `POST /json`, as envoyproxy/ratelimit has it: a `RateLimitRequest` as JSON, answered with a `RateLimitResponse`. 200 where the
 * request is allowed, 429 where it is denied.
 */
export function jsonRoute(service: Service, options: JsonRouteOptions): Route {
  const bodies = new Bodies(options.bodies);
  return {
    path: PATH,
    method: 'POST',
    async handle(request, response) {
      try {
        const body = await bodies.read(request);
        const decided = await decide(service, options.overrides, requestOfJson(parse(body)), {
          entrance: entranceOf(request, options.entrance),
          authorization: request.headers.authorization,
          endMs: undefined,
        });
        options.decided(decided);
        send(response, responseOf(decided));
      } catch (error) {
        sendError(response, error);
      }
    },
  };
}

/** A page reaches what its browser reaches, such as the loopback: it has the rights of a stranger. */
function entranceOf({ headers }: IncomingMessage, { isPrivate }: Entrance): Entrance {
  return { isPrivate: isPrivate && headers.origin === undefined };
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

const TITLES = {
  400: 'Bad Request',
  403: 'Forbidden',
  408: 'Request Timeout',
  413: 'Content Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;
type ErrorStatus = keyof typeof TITLES;

const STATUS_OF: Readonly<Partial<Record<StatusCode, ErrorStatus>>> = {
  [Status.UNKNOWN]: 400,
  [Status.INVALID_ARGUMENT]: 400,
  [Status.PERMISSION_DENIED]: 403,
  [Status.RESOURCE_EXHAUSTED]: 503,
  [Status.UNAVAILABLE]: 503,
};

function sendError(response: ServerResponse, error: unknown): void {
  if (error instanceof BodyError) {
    sendStatus(response, error.status, error.message, { connection: 'close' });
  } else if (error instanceof CallError) {
    sendStatus(response, STATUS_OF[error.code] ?? 500, error.message);
  } else {
    throw error;
  }
}

function sendStatus(
  response: ServerResponse,
  status: ErrorStatus,
  detail: string,
  fields: Readonly<Record<string, string>> = {},
): void {
  sendProblem(response, status, TITLES[status], detail, status === 503 ? { ...fields, 'retry-after': '1' } : fields);
}

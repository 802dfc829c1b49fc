import type { IncomingMessage } from 'node:http';
import type { Entrance } from '../../access.ts';
import type { Route } from '../../transport/http.ts';
import { Bodies, type WaitingBodies } from '../../transport/bodies.ts';
import { readJson } from '../../transport/read-json.ts';
import { RequestProblem } from '../../transport/request-problem.ts';
import { sendJson } from '../../transport/send.ts';
import type { Service } from '../../service.ts';
import { openApi } from './open-api.ts';
import { badRequest } from './fields.ts';
import { Operations, type Operation } from './operations.ts';

const PREFIX = '/v1/';
const LONGEST_BODY = 65_536;
const SOON = { 'retry-after': '1' };

/** The native protocol over HTTP: `POST /v1/consume` and the like, `/v1/overrides`, and `GET /v1/openapi.json`, which describes them. */
export function nativeRoutes(service: Service, entrance: Entrance, waiting?: WaitingBodies): readonly Route[] {
  const operations = new Operations(service);
  const bodies = new Bodies({ longest: LONGEST_BODY, waiting });
  return [
    {
      path: `${PREFIX}openapi.json`,
      method: 'GET',
      handle: (_request, response) => {
        sendJson(response, 200, openApi);
      },
    },
    {
      path: PREFIX,
      place: 'whole',
      handle: async (request, response, takePlace) => {
        const { operation, hasBody, isTrusted } = calledOperation(service, { entrance, operations }, request);
        const given = hasBody ? await readJson(request, bodies) : queryOf(request);
        takePlace(response);
        const result = await operations.run(operation, given, { isTrusted }).catch((error: unknown) => {
          throw asProblem(error);
        });
        if (result !== undefined) sendJson(response, 200, result);
        else response.writeHead(204).end();
      },
    },
  ];
}

/**
 * The operation that a request calls.
 *
 * @throws RequestProblem where there is none, or the client may not call it.
 */
function calledOperation(
  { access }: Service,
  { entrance, operations }: { readonly entrance: Entrance; readonly operations: Operations },
  request: IncomingMessage,
): { readonly operation: Operation; readonly hasBody: boolean; readonly isTrusted: boolean } {
  const name = (request.url ?? '').slice(PREFIX.length).replace(/\?.*$/s, '');
  const methods = operations.find(name);
  if (methods === undefined) {
    throw new RequestProblem(
      404,
      `there is nothing at this path; known: ${operations.names.map((known) => PREFIX + known).join(', ')}`,
    );
  }
  const method = String(request.method);
  const operation = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (operation === undefined) {
    const allow = Object.keys(methods).join(', ');
    throw new RequestProblem(405, `${PREFIX}${name} takes ${allow}, got ${method}`, {}, { allow });
  }
  const problem = access.problemOfPage(request, entrance);
  if (problem !== undefined) throw new RequestProblem(403, `${problem}; nothing was done`);
  const isTrusted = access.allows(entrance, request.headers.authorization);
  if (operation.isPrivileged && !isTrusted) {
    throw new RequestProblem(
      401,
      `${PREFIX}${name} needs the header field Authorization: Bearer TOKEN, with the token of the service`,
      {},
      { 'www-authenticate': 'Bearer' },
    );
  }
  return { operation, hasBody: method === 'POST' || method === 'PUT', isTrusted };
}

/**
 * The fields of a query.
 *
 * @throws RequestProblem for a field that stands there twice.
 */
function queryOf({ url = '' }: IncomingMessage): Readonly<Record<string, string>> {
  const query = new URLSearchParams(/\?.*$/s.exec(url)?.[0]);
  const fields = Object.fromEntries(query);
  if (query.size > Object.keys(fields).length) throw badRequest('the query has a field twice');
  return fields;
}

/** How errors of core are reported to a client. Other errors pass unchanged. */
function asProblem(error: unknown): unknown {
  const { code, message, name } = error as { code?: unknown; message: string; name: string };
  if (error instanceof RequestProblem || typeof code !== 'string' || !code.startsWith('SLUICE_')) return error;
  const detail = message.replace(/ \[SLUICE_[A-Z_]+\]$/, '');
  if (code === 'SLUICE_POLICY_UNCONFIGURED') return new RequestProblem(409, detail, { code });
  if (code === 'SLUICE_LIMITER_CLOSED') return new RequestProblem(503, 'the service ends', { code }, SOON);
  // Messages of a store may hold addresses: clients get the code alone.
  if (name === 'StoreError') {
    return new RequestProblem(503, 'the store does not answer: the operation may have been done', { code }, SOON);
  }
  const here = code === 'SLUICE_ACQUIRE_NEEDED' ? '; over HTTP these are /v1/acquire, /v1/renew and /v1/release' : '';
  return new RequestProblem(400, detail + here, { code });
}

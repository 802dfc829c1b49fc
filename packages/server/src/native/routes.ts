import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import { checkJson, parseJson } from '../transport/bodies.ts';
import type { Route } from '../transport/http.ts';
import { RequestProblem } from '../transport/request-problem.ts';
import { sendJson, sendText } from '../transport/send.ts';
import { decideRemotely } from './remote-decisions.ts';
import { makeOperations, runOperation } from './operations.ts';
import { openApi } from './open-api.ts';

const SOON = { 'retry-after': '1' };

/**
 * The native protocol over HTTP: `POST /v1/consume` and the like, `POST /v1/decide` for `remoteStore`, and
 * `GET /v1/openapi.json`, which describes all but that.
 */
export function nativeRoutes(service: Service, entrance: Entrance): readonly Route[] {
  const { access, core } = service;
  const operations = makeOperations(service);
  const described = JSON.stringify(openApi(operations));
  /** A route whose body is JSON, and its answer too, if there is one. */
  const makeRoute = (
    name: string,
    needsRights: boolean,
    run: (body: unknown, authorization: string | undefined) => Promise<unknown>,
  ): Route => ({
    path: `/v1/${name}`,
    method: 'POST',
    readsBody: true,
    check: (request) => {
      access.check(request, entrance, needsRights);
      checkJson(request);
    },
    handle: async (request, response, body) => {
      const result = await run(parseJson(body), request.headers.authorization).catch((error: unknown) => {
        throw readProblem(error);
      });
      if (result !== undefined) sendJson(response, 200, result);
      else response.writeHead(204).end();
    },
  });
  const routes = Object.entries(operations).map(([name, operation]) =>
    makeRoute(name, operation.needsRights === true, (body, authorization) =>
      runOperation(name, operation, body, access.allows(entrance, authorization)),
    ),
  );
  const decide = makeRoute('decide', true, (body, authorization) => decideRemotely(core, body, authorization));
  const document: Route = {
    path: '/v1/openapi.json',
    method: 'GET',
    handle: (_request, response) => {
      sendText(response, 200, described, 'application/json');
    },
  };
  return [...routes, decide, document];
}

/** Turns errors of core into what a client sees. Other errors pass unchanged. */
function readProblem(error: unknown): unknown {
  const { code, message, name } = error as { code?: unknown; message: string; name: string };
  if (error instanceof RequestProblem || typeof code !== 'string' || !code.startsWith('SLUICE_')) return error;
  if (code === 'SLUICE_LIMITER_CLOSED') return new RequestProblem(503, 'the service ends', { code }, SOON);
  // A store's messages may contain addresses, so clients only get the code.
  if (name === 'StoreError') {
    return new RequestProblem(503, 'the store does not answer: the operation may have been performed', { code }, SOON);
  }
  const here = code === 'SLUICE_ACQUIRE_NEEDED' ? '; over HTTP these are /v1/acquire, /v1/renew and /v1/release' : '';
  const detail = message.replace(/ \[SLUICE_[A-Z_]+\]$/, '') + here;
  return new RequestProblem(code === 'SLUICE_POLICY_UNCONFIGURED' ? 409 : 400, detail, { code });
}

import { inLocals, readUserId, type Framework, type RawResponse } from '@sluice/core/http';
import type { FoundRequest, NestRequest, NestResponse } from './nest-types.ts';
import { routeTemplate } from './route-template.ts';

/** Node's own response. */
interface NodeResponse extends RawResponse {
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** A Fastify response, which wraps Node's own. */
interface Wrapped extends NestResponse {
  readonly raw: NodeResponse;
}

/** Reads requests and writes responses of both platforms, Express and Fastify. */
export const framework: Framework<NestRequest, NestResponse> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => routeTemplate(request),
  header: (request: FoundRequest, name) => request.headers?.[name],
  user: (request) => readUserId(request.user) ?? readUserId((request as FoundRequest).raw?.user),
  rawRequest: (request: FoundRequest) => request.raw ?? request,
  rawResponse: getNodeResponse,
  getHeader: (response, name) => response.getHeader(name),
  setHeader: (response, name, value) => {
    if (isNode(response)) response.setHeader(name, value);
    else response.header(name, value);
  },
  removeHeader: (response, name) => {
    response.removeHeader(name);
    getNodeResponse(response).removeHeader(name); // where fields set by middleware are, with Fastify
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    if (isNode(response)) response.end(body);
    // As bytes, because Fastify adds a charset to the content type of a string.
    else response.send(Buffer.from(body));
  },
  // As Nest sends a handler's return value: with Express, a number becomes text.
  answerWith: (response, value) => {
    const raw = getNodeResponse(response);
    if (value === raw || raw.headersSent || raw.writableEnded) return; // onDenied sent or sends the response itself
    const isText = isNode(response) && (typeof value === 'number' || typeof value === 'boolean');
    response.send(isText ? String(value) : value);
  },
  ...inLocals,
  proxyTrust: (request) => {
    const { app, server } = request as FoundRequest;
    return app === undefined ? server : app.get('trust proxy fn');
  },
};

/** For limits that only report: handlers see the decision of those that enforce. */
export const reporting: Framework<NestRequest, NestResponse> = {
  ...framework,
  record: (request, info) => {
    if (request.rateLimit === undefined) inLocals.record(request, info);
  },
};

/** Whether a response is Node's own: Express extends it, Fastify wraps it. */
function isNode(response: NestResponse): response is NestResponse & NodeResponse {
  return (response as Partial<Wrapped>).raw === undefined;
}

function getNodeResponse(response: NestResponse): NodeResponse {
  return isNode(response) ? response : (response as Wrapped).raw;
}

import { weakMapMarks, fieldText, userIdOf, type Framework } from '@sluice/old-http/spi';
import type { Request, Response } from 'express';
import { routeTemplate } from './route-template.ts';

/**
 * Reads requests and writes responses of Express 4 and 5, for those who build on this package. A `record` that is
 * assigned here stores the decisions of every middleware in another place than `request.rateLimit`.
 */
export const framework: Framework<Request, Response> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: (request) => routeTemplate(request, undefined),
  header: (request, name) => request.get(name),
  user: (request) => userIdOf((request as { user?: unknown }).user),
  rawRequest: (request) => request,
  marks: weakMapMarks,
  rawResponse: (response) => response,
  getHeader: (response, name) => {
    const value = response.getHeader(name);
    return value === undefined ? undefined : fieldText(value);
  },
  setHeader: (response, name, value) => {
    response.setHeader(name, value);
  },
  removeHeader: (response, name) => {
    response.removeHeader(name);
  },
  setStatus: (response, status) => {
    response.statusCode = status;
  },
  send: (response, body) => {
    response.end(body);
  },
  record: (request, info) => {
    request.rateLimit = info;
  },
  proxyTrust: (request) => request.app.get('trust proxy fn') as unknown,
};

/**
 * The same for one middleware.
 *
 * @param self - The limiting middleware: a request may still reach the routes behind it.
 */
export function frameworkFor(self: () => unknown): Framework<Request, Response> {
  const route: typeof framework.route = (request) => routeTemplate(request, self());
  // Inherits instead of copying: a `record` that is assigned later takes effect.
  return Object.assign(Object.create(framework) as typeof framework, { route });
}

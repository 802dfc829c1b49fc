import { inLocals, readUserId, type Framework } from '@sluice/core/http';
import type { Request, Response } from 'express';
import { routeTemplate } from './route-template.ts';

/**
 * Reads requests and writes responses of Express 4 and 5.
 *
 * @param self - The limiting middleware: a request may still reach the routes behind it.
 */
export function frameworkFor(self: () => unknown): Framework<Request, Response> {
  return {
    address: (request) => request.ip,
    method: (request) => request.method,
    route: (request) => routeTemplate(request, self()),
    header: (request, name) => request.headers[name],
    user: (request) => readUserId((request as { user?: unknown }).user),
    rawRequest: (request) => request,
    rawResponse: (response) => response,
    getHeader: (response, name) => response.getHeader(name),
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
    locals: inLocals.locals,
    proxyTrust: (request) => request.app.get('trust proxy fn') as unknown,
  };
}

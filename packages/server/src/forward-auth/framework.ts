import type { ServerResponse } from 'node:http';
import { fieldText, type Framework } from '@sluice/old-http/spi';
import type { OriginalRequest } from './original-request.ts';

/**
 * Reads what a gateway asks about, and writes the answer to the gateway. The route of a request is that of its rule.
 */
export const framework: Framework<OriginalRequest, ServerResponse> = {
  address: (request) => request.address,
  method: (request) => request.method,
  route: () => undefined,
  header: (request, name) => request.header(name),
  user: () => undefined,
  rawRequest: (request) => request,
  rawResponse: (response) => response,
  getHeader: (response, name) => fieldText(response.getHeader(name)),
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
  record: () => undefined,
};

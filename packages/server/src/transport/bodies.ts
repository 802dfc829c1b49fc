import type { IncomingMessage } from 'node:http';
import type { Clients } from './clients.ts';
import { badRequest, RequestProblem } from './request-problem.ts';

/**
 * The maximum length of a body, in bytes: parsing a larger one would hold up everything else for several milliseconds.
 */
const MAX_BODY = 65_536;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i;
const CLOSE = { connection: 'close' };

/**
 * Reads a body, whose length is bounded, as are the bytes of incomplete ones, per client and in total. The listener
 * limits the time for it.
 *
 * @throws (rejects) RequestProblem: 400 if it ends early, 413 if it is too long, 503 if its client sends too many at
 * once. The connection ends with the answer, because the rest of the body is not read; a gateway's connection stays
 * open if it has other clients.
 */
export async function readBody(request: IncomingMessage, clients: Clients): Promise<Buffer> {
  const detail = `the body must have at most ${String(MAX_BODY)} bytes, got more`;
  const tooLong = new RequestProblem(413, detail, {}, CLOSE);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) throw tooLong;
  const client = clients.clientOf(request);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (bytes + chunk.length > MAX_BODY) throw tooLong;
      if (!clients.bytes.take(client, chunk.length)) throw tooMany(request, clients);
      bytes += chunk.length;
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof RequestProblem ? error : new RequestProblem(400, 'the body has ended early', {}, CLOSE);
  } finally {
    clients.bytes.give(client, bytes);
  }
  return Buffer.concat(chunks);
}

function tooMany(request: IncomingMessage, { gateways }: Clients): RequestProblem {
  const isOfGateway = gateways.trusts(request.socket.remoteAddress);
  if (isOfGateway) request.resume(); // what is left is dropped
  const soon = { 'retry-after': '1' };
  const detail = 'the service is reading as many bodies as it can; nothing was done';
  return new RequestProblem(503, detail, {}, isOfGateway ? soon : { ...CLOSE, ...soon });
}

/** @throws RequestProblem 415 for a request whose body is not JSON. */
export function checkJson({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  if (type !== undefined && JSON_TYPE.test(type)) return;
  // This also keeps web pages from sending it: a browser asks before sending JSON to another origin.
  const got = type === undefined ? 'none' : JSON.stringify(type);
  throw new RequestProblem(415, `the body must be JSON: send Content-Type: application/json, got ${got}`);
}

/** @throws RequestProblem 400 for anything but JSON in UTF-8. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch (error) {
    throw badRequest(`the body must be JSON in UTF-8: ${(error as Error).message}`);
  }
}

import type { IncomingMessage } from 'node:http';
import type { Bodies } from './bodies.ts';
import { RequestProblem } from './request-problem.ts';

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i;

/**
 * Reads the body of a request as JSON.
 *
 * @throws (rejects) RequestProblem: 415 for another type, 400 for what is no JSON or no UTF-8, and as
 * {@link Bodies.read} does.
 */
export async function readJson(request: IncomingMessage, bodies: Bodies): Promise<unknown> {
  const type = request.headers['content-type'];
  if (type === undefined || !JSON_TYPE.test(type)) {
    // Also what keeps pages from sending this: a browser asks before it sends JSON to another origin.
    throw new RequestProblem(
      415,
      `the body must be JSON: send Content-Type: application/json, got ${type === undefined ? 'none' : JSON.stringify(type)}`,
    );
  }
  const body = await bodies.read(request);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new RequestProblem(400, 'the body must be UTF-8');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new RequestProblem(400, `the body must be JSON: ${(error as Error).message}`);
  }
}

import type { IncomingMessage } from 'node:http';
import { RequestProblem } from './request-problem.ts';

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json *(?:;|$)/i;

/**
 * Reads the body of a request as JSON. How long it may take is bounded by the listener.
 *
 * @throws (rejects) RequestProblem: 415 for another type, 413 for more than `mostBytes`, 400 for what is no JSON or no UTF-8, or
 * a body that ends early.
 */
export async function readJson(request: IncomingMessage, mostBytes: number): Promise<unknown> {
  const type = request.headers['content-type'];
  if (type === undefined || !JSON_TYPE.test(type)) {
    // Also what keeps pages from sending this: a browser asks before it sends JSON to another origin.
    throw new RequestProblem(
      415,
      `the body must be JSON: send Content-Type: application/json, got ${type === undefined ? 'none' : JSON.stringify(type)}`,
    );
  }
  const body = await readBody(request, mostBytes);
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

function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    const tooLarge = (): void => {
      // What is left is not read: the connection ends with the answer.
      request.pause().removeAllListeners('data');
      reject(
        new RequestProblem(
          413,
          `the body has at most ${String(mostBytes)} bytes, got more`,
          {},
          { connection: 'close' },
        ),
      );
    };
    if (Number(request.headers['content-length'] ?? 0) > mostBytes) {
      tooLarge();
      return;
    }
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > mostBytes) tooLarge();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      resolve(Buffer.concat(chunks, length));
    });
    request.on('close', () => {
      reject(new RequestProblem(400, 'the body has ended early')); // does nothing after the end
    });
    request.on('error', () => undefined); // closing follows
  });
}

import type { ServerResponse } from 'node:http';

/** Answers with text. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Answers with an error as RFC 9457 writes it. */
export function sendProblem(
  response: ServerResponse,
  status: number,
  title: string,
  detail: string,
  fields: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify({ type: 'about:blank', title, status, detail });
  response.writeHead(status, {
    ...fields,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

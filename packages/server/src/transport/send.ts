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

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, JSON.stringify(body), 'application/json');
}

/**
 * Answers with an error as RFC 9457 writes it.
 *
 * @param fields - Header fields of the answer.
 * @param members - What the problem has beside type, title, status and detail.
 */
export function sendProblem(
  response: ServerResponse,
  status: number,
  title: string,
  detail: string,
  fields: Readonly<Record<string, string>> = {},
  members: Readonly<Record<string, unknown>> = {},
): void {
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, ...members });
  response.writeHead(status, {
    ...fields,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

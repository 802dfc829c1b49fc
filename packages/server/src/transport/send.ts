import type { ServerResponse } from 'node:http';

/** Answers with text. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
  fields: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...fields, 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, JSON.stringify(body), 'application/json');
}

/** What the responses of both platforms have in common. */
export interface NestResponse {
  statusCode: number;
  getHeader(name: string): number | string | readonly string[] | undefined;
  header(name: string, value: string): NestResponse;
  removeHeader(name: string): unknown;
  status(code: number): NestResponse;
  /** Sends the body, and so the answer: a text or bytes as they are, all else as JSON. */
  send(body?: unknown): unknown;
}

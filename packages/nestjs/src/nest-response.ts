/** The common part of the responses of both platforms. */
export interface NestResponse {
  statusCode: number;
  getHeader(name: string): number | string | readonly string[] | undefined;
  header(name: string, value: string): NestResponse;
  removeHeader(name: string): unknown;
  status(code: number): NestResponse;
  /** Sends the response: a string or bytes unchanged, any other value as JSON. */
  send(body?: unknown): unknown;
}

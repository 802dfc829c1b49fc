import type { ServerResponse } from 'node:http';
import { sendProblem } from './send.ts';

const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  503: 'Service Unavailable',
} as const;

/** Why a request is not served: what its client is told, as problem details. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem';
  readonly status: keyof typeof TITLES;
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #fields: Readonly<Record<string, string>>;

  /**
   * @param members - What the problem has beside type, title, status and detail, such as `code`.
   * @param fields - Header fields of the answer.
   */
  constructor(
    status: keyof typeof TITLES,
    detail: string,
    members: Readonly<Record<string, unknown>> = {},
    fields: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.status = status;
    this.#members = members;
    this.#fields = fields;
  }

  send(response: ServerResponse): void {
    sendProblem(response, this.status, TITLES[this.status], this.message, this.#fields, this.#members);
  }
}

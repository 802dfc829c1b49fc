import { STATUS_CODES, type ServerResponse } from 'node:http';
import { sendText } from './send.ts';

/** A problem with what a client sent. */
export function badRequest(detail: string, members?: Readonly<Record<string, unknown>>): RequestProblem {
  return new RequestProblem(400, `${detail}; nothing was done`, members);
}

/** Why a request is not served: what its client receives, as problem details (RFC 9457). */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem';
  readonly status: number;
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #fields: Readonly<Record<string, string>>;

  /**
   * @param members - Members of the problem in addition to type, title, status and detail, such as `code`.
   * @param fields - Header fields of the answer.
   */
  constructor(
    status: number,
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
    const { status, message: detail } = this;
    const problem = { type: 'about:blank', title: STATUS_CODES[status], status, detail, ...this.#members };
    sendText(response, status, JSON.stringify(problem), 'application/problem+json', this.#fields);
  }
}

import { StoreError } from '../../errors.ts';

/** A request to an agent. */
export interface AgentRequest {
  readonly method: 'GET' | 'PUT';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** Its answer, of any status. */
export interface AgentAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const MAX_SHOWN = 200;

/** The HTTP API of one Consul agent. No error of it holds the token. */
export class ConsulAgent {
  readonly #address: string;
  readonly #token: string | undefined;

  constructor(address: string, token: string | undefined) {
    this.#address = address;
    this.#token = token;
  }

  /** @throws (rejects) StoreError if there is no answer. */
  async ask({ method, path, query = {}, body, signal }: AgentRequest): Promise<AgentAnswer> {
    const url = new URL(`${path}?${new URLSearchParams(query).toString()}`, this.#address);
    const headers = this.#token === undefined ? {} : { 'X-Consul-Token': this.#token };
    try {
      // The target of a redirect would get the token, and be believed.
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'error',
        signal,
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      throw this.error('SLUICE_STORE_FAILED', `${method} ${path}: ${readReason(error)}`);
    }
  }

  /** @throws (rejects) StoreError if the answer is not 200. */
  async expect(request: AgentRequest): Promise<AgentAnswer> {
    const answer = await this.ask(request);
    if (answer.status === 200) return answer;
    const { method, path } = request;
    throw this.error(
      'SLUICE_STORE_FAILED',
      `${method} ${path} answered ${String(answer.status)} ${answer.text.trim()}`,
    );
  }

  /** An answer may repeat the token. Errors have no cause, because its message may hold the token too. */
  error(code: 'SLUICE_STORE_FAILED' | 'SLUICE_STORE_REPLY_INVALID', what: string): StoreError {
    const text = this.#token === undefined ? what : what.replaceAll(this.#token, '...');
    return new StoreError(code, `Consul at ${this.#address}, ${text.slice(0, MAX_SHOWN)}`);
  }
}

/** `fetch` puts the reason into the cause of its error, which has a code alone if several addresses failed. */
function readReason(error: unknown): string {
  const { message, cause } = error as Error;
  const { message: why, code } = (cause ?? {}) as { readonly message?: string; readonly code?: string };
  const reason = why === undefined || why === '' ? code : why;
  return reason === undefined ? message : `${message} (${reason})`;
}

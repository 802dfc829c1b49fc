import { StoreError } from '@sluice/old-core';

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

const LONGEST_SHOWN = 200;
/** Some ten thousand instances. */
const MOST_BYTES = 32 * 1_048_576;

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
    try {
      const response = await fetch(url, {
        method,
        headers: this.#token === undefined ? {} : { 'X-Consul-Token': this.#token },
        redirect: 'error', // the target of a redirect would get the token, and be believed
        signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, text: await textOf(response) };
    } catch (error) {
      throw this.#failure(`${method} ${path}: ${reasonOf(error)}`);
    }
  }

  /** @throws (rejects) StoreError if the answer is not 200. */
  async expect(request: AgentRequest): Promise<AgentAnswer> {
    const answer = await this.ask(request);
    if (answer.status === 200) return answer;
    const { method, path } = request;
    throw this.#failure(`${method} ${path} answered ${String(answer.status)} ${answer.text.trim()}`);
  }

  /** An error of an answer that makes no sense. */
  invalid(path: string, why: string): StoreError {
    return new StoreError('SLUICE_STORE_REPLY_INVALID', this.#told(`GET ${path}: ${why}`));
  }

  #failure(what: string): StoreError {
    return new StoreError('SLUICE_STORE_FAILED', this.#told(what));
  }

  /** An answer may repeat the token. Errors have no cause, because its message may hold the token too. */
  #told(what: string): string {
    const text = this.#token === undefined ? what : what.replaceAll(this.#token, '...');
    return `Consul at ${this.#address}, ${text.slice(0, LONGEST_SHOWN)}`;
  }
}

/** @throws (rejects) RangeError for an answer without end: what listens there is not Consul. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new RangeError(`the answer has more than ${String(MOST_BYTES)} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch` puts the reason into the cause of its error, which has a code alone where several addresses failed. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { message: why, code } = (cause ?? {}) as { readonly message?: string; readonly code?: string };
  const reason = why === undefined || why === '' ? code : why;
  return reason === undefined ? message : `${message} (${reason})`;
}

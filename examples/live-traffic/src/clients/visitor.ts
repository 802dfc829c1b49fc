import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** The response to one request. */
export interface Answer {
  readonly path: string;
  readonly status: number;
  readonly statusText: string;
  /** A field that came in several lines is one list here. */
  readonly field: (name: string) => string | undefined;
  /** Names and values alternately, as received. */
  readonly rawFields: readonly string[];
  readonly body: string;
  readonly tookMs: number;
}

const MOST_SOCKETS = 64;
const PATIENCE_MS = 10_000;

/** One client: an address, and a life that ends with `signal`. */
export class Visitor {
  readonly address: string;
  readonly #http: HttpClient;
  readonly #record: (answer: Answer | undefined) => void;
  readonly #signal: AbortSignal;

  /** @param record - Called with every response, and without one when none came. */
  constructor(address: string, http: HttpClient, record: (answer: Answer | undefined) => void, signal: AbortSignal) {
    this.address = address;
    this.#http = http;
    this.#record = record;
    this.#signal = signal;
  }

  get isActive(): boolean {
    return !this.#signal.aborted;
  }

  /** Undefined when no answer came. */
  async send(path: string, form?: Readonly<Record<string, string>>): Promise<Answer | undefined> {
    const request = { address: this.address, path, ...(form === undefined ? {} : { form }) };
    const answer = await this.#http.send(request).catch(() => undefined);
    this.#record(answer);
    return answer;
  }

  /** Waits, or until the life ends. */
  async pause(ms: number): Promise<void> {
    try {
      await sleep(ms, undefined, { signal: this.#signal });
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }
}

interface VisitorRequest {
  /** The address of the client, for X-Forwarded-For. */
  readonly address: string;
  readonly path: string;
  /** Sent as a form, with POST. */
  readonly form?: Readonly<Record<string, string>>;
}

/** Sends requests over kept connections, as a proxy in front of the API would. */
export class HttpClient {
  readonly #baseUrl: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MOST_SOCKETS });

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Rejects when no answer comes. */
  async send({ address, path, form }: VisitorRequest): Promise<Answer> {
    const startedAtMs = performance.now();
    const body = form === undefined ? '' : new URLSearchParams(form).toString();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(`${this.#baseUrl}${path}`, {
        agent: this.#agent,
        method: form === undefined ? 'GET' : 'POST',
        timeout: PATIENCE_MS,
        headers: {
          'X-Forwarded-For': address,
          ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
        },
      });
      outgoing.on('response', resolve).on('error', reject);
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${String(PATIENCE_MS)} ms`)));
      outgoing.end(body);
    });
    const answered = await text(response);
    return {
      path,
      status: response.statusCode ?? 0,
      statusText: response.statusMessage ?? '',
      field: (name) => response.headers[name]?.toString(),
      rawFields: response.rawHeaders,
      body: answered,
      tookMs: performance.now() - startedAtMs,
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientStatistics } from './client-statistics.ts';
import type { Answer, HttpClient } from './http-client.ts';

/** One client: an address, a kind it is counted under, and a life that ends with `signal`. */
export class Visitor {
  readonly address: string;
  readonly #kind: string;
  readonly #http: HttpClient;
  readonly #statistics: ClientStatistics;
  readonly #signal: AbortSignal;

  constructor(address: string, kind: string, http: HttpClient, statistics: ClientStatistics, signal: AbortSignal) {
    this.address = address;
    this.#kind = kind;
    this.#http = http;
    this.#statistics = statistics;
    this.#signal = signal;
  }

  get isActive(): boolean {
    return !this.#signal.aborted;
  }

  /** Undefined when no answer came. */
  async send(path: string, form?: Readonly<Record<string, string>>): Promise<Answer | undefined> {
    const question = { address: this.address, path, ...(form === undefined ? {} : { form }) };
    const answer = await this.#http.send(question).catch(() => undefined);
    this.#statistics.record(this.#kind, answer);
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

import type { ServerResponse } from 'node:http';
import { RequestProblem } from './request-problem.ts';

/** The requests that are handled at once. */
export class Places {
  readonly #most: number;
  readonly #taken = new Set<ServerResponse>();
  readonly #free: (this: ServerResponse) => void;

  constructor(most: number) {
    const taken = this.#taken;
    this.#most = most;
    this.#free = function (this: ServerResponse) {
      taken.delete(this);
    };
  }

  /**
   * Takes a place for a request that is whole, until it is answered.
   *
   * @throws RequestProblem 503 where there is none.
   */
  take(response: ServerResponse): void {
    if (this.#taken.size >= this.#most) this.#freeAnswered();
    if (this.#taken.size >= this.#most) {
      throw new RequestProblem(503, 'the service has as many requests as it takes', {}, { 'retry-after': '1' });
    }
    this.#taken.add(response);
    response.on('close', this.#free);
  }

  /** Frees the places of those that are answered: their clients may not read, and then no response closes. */
  #freeAnswered(): void {
    for (const response of this.#taken) if (response.writableEnded) this.#taken.delete(response);
  }
}

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
   * Takes a place for a request that is whole, until its response is closed.
   *
   * @throws RequestProblem 503 where there is none.
   */
  take(response: ServerResponse): void {
    if (this.#taken.size >= this.#most) {
      throw new RequestProblem(503, 'the service has as many requests as it takes', {}, { 'retry-after': '1' });
    }
    this.#taken.add(response);
    response.on('close', this.#free);
  }
}

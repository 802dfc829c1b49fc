import type { Route } from '../transport/http.ts';
import { sendText } from '../transport/send.ts';

/** Whether the service takes requests: false until its first configuration is loaded, and once it shuts down. */
export class Health {
  #isServing = false;
  readonly #listeners = new Set<() => void>();

  get isServing(): boolean {
    return this.#isServing;
  }

  set isServing(isServing: boolean) {
    if (isServing === this.#isServing) return;
    this.#isServing = isServing;
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener after each change, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** `/healthcheck`, as envoyproxy/ratelimit answers it: 200 and `OK`, or 500. */
export function healthRoute(health: Health): Route {
  return {
    path: '/healthcheck',
    method: 'GET',
    isAlwaysServed: true,
    handle: (_request, response) => {
      const [status, text] = health.isServing ? [200, 'OK'] : [500, 'NOT SERVING'];
      sendText(response, status, text, undefined, { 'cache-control': 'no-store' });
    },
  };
}

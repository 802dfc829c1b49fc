import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import type { BreakerState } from './breaker.ts';

export function guardOf(store: Store): Guard {
  return new Guard(store);
}

export class Guard {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get state(): BreakerState {
    return 'closed';
  }

  get fallback(): Store {
    return this.#store;
  }

  join(_limiter: string): () => void {
    return () => undefined;
  }

  perform(op: Op, asks: readonly Ask[], _endMs: number): Answer | Promise<Answer> {
    return this.#store.perform(op, asks);
  }

  keep(_op: Op, _asks: readonly Ask[]): void {}
}

/** Not an outage, which passes, but something to be mended: never covered by a fallback. */
export function isFault(_error: unknown): boolean {
  return false;
}

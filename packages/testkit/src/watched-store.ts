import type { Store, StoreAnswers, StoreRequest } from '@sluice/old-core';

/** A store that says what it was asked, and when it has answered. */
export interface WatchedStore extends Store {
  /** The requests of each call. */
  readonly calls: (readonly StoreRequest[])[];
  /** Resolves once it has answered, and its callers have the answers. */
  quiet(): Promise<void>;
}

/** When all is done that waits for nothing but its turn. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

export function watched(store: Store): WatchedStore {
  let inFlight = 0;
  return {
    source: store.source,
    calls: [],
    perform(requests, call) {
      this.calls.push(requests);
      const answers = store.perform(requests, call);
      if (Array.isArray(answers)) return answers as StoreAnswers;
      inFlight++;
      return (answers as Promise<StoreAnswers>).finally(() => inFlight--);
    },
    async quiet() {
      do await nextTurn();
      while (inFlight > 0);
      await nextTurn();
    },
  };
}

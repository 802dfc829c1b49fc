import type { Store, StoreAnswers, StoreRequest } from '@sluice/core';

/** A store that says what it was asked, and when it has answered. */
export interface WatchedStore extends Store {
  /** The requests of each call. */
  readonly calls: (readonly StoreRequest[])[];
  /** Once it has answered, and whoever asked has heard of it. */
  quiet(): Promise<void>;
}

export function watched(store: Store): WatchedStore {
  let inFlight = 0;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
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
      do await turn();
      while (inFlight > 0);
      await turn();
    },
  };
}

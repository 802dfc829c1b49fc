import {
  breakers,
  decisions,
  listenOn,
  storeErrors,
  type BreakerMessage,
  type DecisionMessage,
  type StoreErrorMessage,
} from '../channels.ts';

/** A failed call of a store for one limiter. A failed probe counts for every limiter of the store. */
export type StoreFailure = Omit<StoreErrorMessage, 'code'>;

/** Listeners for the channels. None may throw, because Node ends the process then. */
export interface Listeners {
  readonly onDecision: (message: DecisionMessage) => void;
  readonly onStoreFailure: (failure: StoreFailure) => void;
  readonly onBreaker: (message: BreakerMessage) => void;
}

/** Subscribes to all channels. Returns a function that unsubscribes. */
export function listen({ onDecision, onStoreFailure, onBreaker }: Listeners): () => void {
  const stops = [
    listenOn(decisions, onDecision),
    listenOn(storeErrors, onStoreFailure),
    listenOn(breakers, (message) => {
      onBreaker(message);
      for (const failure of failedProbes(message)) onStoreFailure(failure);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Only probes are sent while a breaker is open. Without them an outage would look as if it had ended. */
function failedProbes({ limiters, store, kind, state, previous }: BreakerMessage): readonly StoreFailure[] {
  return previous === 'half-open' && state === 'open' ? limiters.map((limiter) => ({ limiter, store, kind })) : [];
}

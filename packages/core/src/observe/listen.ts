import { subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import {
  breakers,
  decisions,
  storeErrors,
  type BreakerMessage,
  type DecisionMessage,
  type StoreErrorMessage,
} from './channels.ts';

/** A call of a store that failed: for a limiter, or a probe for all limiters of the store. */
export type StoreFailure = Omit<StoreErrorMessage, 'code'>;

/** What is to be done with the messages of the channels. None may throw: Node ends the process for it. */
export interface Listeners {
  readonly onDecision: (message: DecisionMessage) => void;
  readonly onStoreFailure: (failure: StoreFailure) => void;
  readonly onBreaker: (message: BreakerMessage) => void;
}

/** Listens on all channels, until the function that it returns is called. */
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

/** Probes are all that is sent while a breaker is open: without them an outage would look as if it were over. */
function failedProbes({ limiters, store, kind, state, previous }: BreakerMessage): readonly StoreFailure[] {
  return previous === 'half-open' && state === 'open' ? limiters.map((limiter) => ({ limiter, store, kind })) : [];
}

function listenOn<Message>({ name }: Channel<Message, Message>, listener: (message: Message) => void): () => void {
  subscribe(name, listener as ChannelListener);
  return () => {
    unsubscribe(name, listener as ChannelListener);
  };
}

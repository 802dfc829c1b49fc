import { subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import {
  breakers,
  decisions,
  storeErrors,
  type BreakerMessage,
  type DecisionMessage,
  type StoreErrorMessage,
} from './channels.ts';

/** What is to be done with the messages of each channel. None may throw: Node ends the process for it. */
export interface Listeners {
  readonly onDecision: (message: DecisionMessage) => void;
  readonly onStoreError: (message: StoreErrorMessage) => void;
  readonly onBreaker: (message: BreakerMessage) => void;
}

/** Listens on all channels, until the function that it returns is called. */
export function listen({ onDecision, onStoreError, onBreaker }: Listeners): () => void {
  const stops = [listenOn(decisions, onDecision), listenOn(storeErrors, onStoreError), listenOn(breakers, onBreaker)];
  return () => {
    for (const stop of stops) stop();
  };
}

function listenOn<Message>({ name }: Channel<Message, Message>, listener: (message: Message) => void): () => void {
  subscribe(name, listener as ChannelListener);
  return () => {
    unsubscribe(name, listener as ChannelListener);
  };
}

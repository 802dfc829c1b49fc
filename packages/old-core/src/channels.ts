import { channel, subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';
import type { BreakerState } from './engine/store.ts';
import type { Decision, DecisionSource } from './engine/decision.ts';
import type { SluiceErrorCode, StoreFailureKind } from './errors.ts';

/** Published on `sluice:decision`: every decision, from any source. */
export interface DecisionMessage {
  readonly limiter: string;
  /** The operation: a peek takes nothing, whatever it answers. A cost of 0 is still a consume here. */
  readonly op: 'consume' | 'peek';
  /** Without its `error`. */
  readonly decision: Decision;
  /** From the call to the decision, in milliseconds. */
  readonly durationMs: number;
}

/** The message of `sluice:store.error`: a call of a store that failed or was late. */
export interface StoreErrorMessage {
  readonly limiter: string;
  readonly store: DecisionSource;
  readonly kind: StoreFailureKind;
  readonly code: SluiceErrorCode;
}

/** The message of `sluice:breaker`: a breaker changes its state. */
export interface BreakerMessage {
  /** The limiters that count in its store. */
  readonly limiters: readonly string[];
  readonly store: DecisionSource;
  /** Which part of the store, where its parts fail by themselves: in a cluster a node, or a range of hash slots. */
  readonly shard: string | undefined;
  readonly state: BreakerState;
  readonly previous: BreakerState;
  /** Why it opened; the kind of the last failure. */
  readonly kind: StoreFailureKind;
}

// Made once: publishing without subscribers costs one check.
export const decisions = channel('sluice:decision') as Channel<DecisionMessage, DecisionMessage>;
export const storeErrors = channel('sluice:store.error') as Channel<StoreErrorMessage, StoreErrorMessage>;
export const breakers = channel('sluice:breaker') as Channel<BreakerMessage, BreakerMessage>;

/** Calls a function with every message of a channel. It must not throw: Node ends the process then. Returns what ends it. */
export function listenOn<Message>(
  { name }: Channel<Message, Message>,
  listener: (message: Message) => void,
): () => void {
  subscribe(name, listener as ChannelListener);
  return () => {
    unsubscribe(name, listener as ChannelListener);
  };
}

import type { ChannelListener } from 'node:diagnostics_channel';
import type { Decision, DecisionSource } from './decision.ts';
import type { SluiceErrorCode, StoreFailureKind } from './errors.ts';
import { findBuiltin } from './platform.ts';

/** Published on `sluice:decision`: every decision, from any source. */
export interface DecisionMessage {
  readonly limiter: string;
  /** The operation. A peek takes nothing; a consume with cost 0 is still a consume. */
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

/** `closed` while the store is called; `open` after failures; `half-open` while a probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** The message of `sluice:breaker`: a breaker changes its state. */
export interface BreakerMessage {
  /** The limiters that use its store. */
  readonly limiters: readonly string[];
  readonly store: DecisionSource;
  readonly state: BreakerState;
  readonly previous: BreakerState;
  /** The kind of the last failure: why it opened. */
  readonly kind: StoreFailureKind;
}

/** A channel of `node:diagnostics_channel`. Without subscribers it costs only a check for them. */
export interface Channel<Message> {
  readonly name: string;
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
}

const diagnostics = /* @__PURE__ */ findBuiltin('node:diagnostics_channel');

/** A runtime without `node:diagnostics_channel` has no subscribers. */
const channel = <Message>(name: string): Channel<Message> =>
  (diagnostics?.channel(name) as Channel<Message> | undefined) ?? {
    name,
    hasSubscribers: false,
    publish: () => undefined,
  };

export const decisions: Channel<DecisionMessage> = /* @__PURE__ */ channel('sluice:decision');
export const storeErrors: Channel<StoreErrorMessage> = /* @__PURE__ */ channel('sluice:store.error');
export const breakers: Channel<BreakerMessage> = /* @__PURE__ */ channel('sluice:breaker');

/**
 * Calls a function with every message of a channel. It must not throw, because Node would end the process. Returns a
 * function that unsubscribes.
 */
export function subscribe<Message>(channel: Channel<Message>, listener: (message: Message) => void): () => void {
  const onMessage = listener as ChannelListener;
  diagnostics?.subscribe(channel.name, onMessage);
  return () => {
    diagnostics?.unsubscribe(channel.name, onMessage);
  };
}

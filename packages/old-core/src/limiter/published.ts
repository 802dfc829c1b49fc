import { decisions, listenOn, type DecisionMessage } from '../channels.ts';
import { currentOf } from '../engine/limit-source.ts';
import type { Store } from '../engine/store.ts';
import type { NamedPolicy } from '../engine/policy.ts';
import type { PolicyDecision } from '../engine/decision.ts';
import type { UnresolvedPart } from './resolve.ts';

/** The `LimiterCore` that has decided. */
export interface PublishingCore {
  readonly name: string;
  readonly store: Store;
}

/** A decision as it is published, with what no channel holds: the limiter itself, and the keys. */
export interface PublishedDecision {
  readonly message: DecisionMessage;
  readonly core: PublishingCore;
  /** Limits, keys and costs of the request. */
  readonly parts: readonly UnresolvedPart[];
}

/** The decision that is being published. */
let current: PublishedDecision | undefined;

/** Publishes a decision on `sluice:decision`, and to those who watch decisions with their keys. */
export function publish(core: PublishingCore, parts: readonly UnresolvedPart[], message: DecisionMessage): void {
  const outer = current; // a subscriber may itself ask a limiter
  current = { message, core, parts };
  decisions.publish(message);
  current = outer;
}

/**
 * Calls a function with every decision of this process, as a subscriber of `sluice:decision` that also sees the keys.
 * It must not throw: Node ends the process then.
 *
 * @returns Stops that.
 */
export function watchDecisions(watch: (published: PublishedDecision) => void): () => void {
  return listenOn(decisions, (message) => {
    // Another message is one of another copy, such as that of another test file.
    if (current?.message === message) watch(current);
  });
}

/** Calls a function for each policy of a decision, with the part of the request that it has decided. */
export function eachPolicy(
  { message, parts }: PublishedDecision,
  visit: (policy: PolicyDecision, part: UnresolvedPart, named: NamedPolicy) => void,
): void {
  let i = 0;
  for (const part of parts) {
    for (const named of currentOf(part.limit, part.subject)?.policies ?? []) {
      const policy = message.decision.policies[i++];
      if (policy !== undefined) visit(policy, part, named);
    }
  }
}

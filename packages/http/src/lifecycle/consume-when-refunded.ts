import type { Decision } from '@sluice/core';
import { countsDenialsNow, namesOf, type UnresolvedPart } from '@sluice/core/spi';
import type { LimitRequest } from '../limit-resolver.ts';
import type { PendingDecision } from '../pending-decision.ts';
import type { Refund } from '../options.ts';

/**
 * Takes units. A request that would be denied waits, up to `holdMs`, until earlier requests give theirs back. One that
 * is allowed now does not wait: requests that wait for more stay where they are.
 *
 * @returns Undefined when the client left during the wait.
 */
export async function consumeWhenRefunded<Request, Response>(
  pending: PendingDecision<Request, Response>,
): Promise<Decision | undefined> {
  const { requests, rawRequest, rawResponse } = pending;
  const startMs = performance.now();
  pending.startDeadline();
  const ahead = queuedKeysOf(requests).find(({ refund, key }) => refund.queue.isWaiting(key));
  // A request behind others takes no units that one of them can have: it only peeks, and they try before it.
  let decision: Decision | undefined = await (ahead === undefined ? pending.consume() : pending.peek());
  let waitFor = decision.outcome === 'allowed' ? ahead : keyToWaitFor(requests, decision);
  if (waitFor === undefined) return decision;
  if (!waitFor.refund.queue.hasRoomFor(waitFor.key)) return decision.allowed ? pending.consume() : decision;
  if (decision.allowed) waitFor.refund.queue.notify(waitFor.key);
  // Another limit may deny it after the wait: then it waits in the queue of that limit.
  while (waitFor !== undefined) {
    const { refund, key, cost }: QueuedKey<Request, Response> = waitFor;
    const endMs = startMs + refund.holdMs;
    decision = await refund.queue.wait(
      key,
      cost,
      endMs,
      rawRequest,
      rawResponse,
      async () => {
        pending.restartDeadline();
        return pending.consume();
      },
      (tried) => {
        const denied = keyToWaitFor(requests, tried);
        return denied?.key === key ? denied.deniedCost : undefined;
      },
    );
    if (decision === undefined || performance.now() >= endMs) return decision;
    waitFor = keyToWaitFor(requests, decision);
  }
  return decision;
}

/** A key of which a request may wait for refunds. */
interface QueuedKey<Request, Response> {
  readonly refund: Refund<Request, Response>;
  readonly key: string;
  readonly cost: number;
}

/** A key that denied a request. */
interface DenyingKey<Request, Response> extends QueuedKey<Request, Response> {
  /** The least cost that it is known to deny. */
  readonly deniedCost: number;
}

/** Lets the requests that wait for each of these keys try again: units of it were given back. */
export function notifyWaiters<Request, Response>(requests: readonly LimitRequest<Request, Response>[]): void {
  for (const { refund, key } of queuedKeysOf(requests)) refund.queue.notify(key);
}

/** The keys of all limits whose requests wait for refunds. */
function queuedKeysOf<Request, Response>(
  requests: readonly LimitRequest<Request, Response>[],
): QueuedKey<Request, Response>[] {
  return requests.flatMap(({ layer: { refund }, parts }) =>
    refund === undefined || refund.holdMs === 0
      ? []
      : parts.map((part) => ({ refund, key: queueKey(part), cost: part.cost })),
  );
}

/** The key to wait for after a denial: only if every limit that denies has `holdMs`, and waiting can help. */
function keyToWaitFor<Request, Response>(
  requests: readonly LimitRequest<Request, Response>[],
  decision: Decision,
): DenyingKey<Request, Response> | undefined {
  if (decision.outcome !== 'denied') return undefined;
  let waitFor: DenyingKey<Request, Response> | undefined;
  let i = 0;
  for (const { layer, parts } of requests) {
    for (const part of parts) {
      const names = namesOf(part.limit);
      if (decision.policies[i]?.name !== names[0]) continue; // its managed policy does not exist, so it was not decided
      const policies = decision.policies.slice(i, (i += names.length));
      if (policies.every(({ allowed }) => allowed)) continue;
      const { refund } = layer;
      if (refund === undefined || refund.holdMs === 0 || countsDenialsNow(part.limit)) return undefined;
      if (policies.some(({ retryAfterMs }) => retryAfterMs === null)) return undefined;
      const deniedCost = policies.some(({ remaining }) => remaining === 0) ? 1 : part.cost;
      waitFor ??= { refund, key: queueKey(part), cost: part.cost, deniedCost };
    }
  }
  return waitFor;
}

/** The line in which a part's requests wait. */
export function queueKey({ limit, subject }: UnresolvedPart): string {
  return `${limit.keySuffix} ${subject}`;
}

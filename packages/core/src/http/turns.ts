import type { Decision } from '../decision.ts';
import { namesOf, type AskedPart } from '../managed/resolve.ts';
import type { RawRequest, RawResponse } from './framework.ts';
import type { Asking } from './asking.ts';
import type { Refund } from './refund.ts';

/** Decides, after others have had their turn where units may be given back. Undefined when the client left meanwhile. */
export async function decideInTurn<Request, Response>(
  decide: (op: 'consume' | 'peek') => Decision | Promise<Decision>,
  askings: readonly Asking<Request, Response>[],
  request: RawRequest,
  response: RawResponse,
): Promise<Decision | undefined> {
  const startMs = performance.now();
  const busy = turnsOf(askings).find(({ refund, key }) => refund.queue.isWaiting(key));
  // Who comes after others that wait takes nothing before them, and only sees whether waiting makes sense.
  let decision: Decision | undefined = await decide(busy === undefined ? 'consume' : 'peek');
  let turn = decision.outcome === 'allowed' ? busy : turnFor(askings, decision);
  if (turn === undefined) return decision;
  if (!turn.refund.queue.hasRoomFor(turn.key)) return decision.allowed ? decide('consume') : decision;
  // What refuses it may change while it waits: then it waits for that, in the turn of that.
  while (turn !== undefined) {
    const { refund, key }: Turn<Request, Response> = turn;
    const endMs = startMs + refund.holdMs;
    decision = await refund.queue.wait(
      key,
      endMs,
      request,
      response,
      async () => decide('consume'),
      (tried) => turnFor(askings, tried)?.key !== key,
    );
    if (decision === undefined || performance.now() >= endMs) return decision;
    turn = turnFor(askings, decision);
  }
  return decision;
}

/** Where a request waits for units that others may give back. */
interface Turn<Request, Response> {
  readonly refund: Refund<Request, Response>;
  readonly key: string;
}

/** Has those ask who wait for units of these: some have come back. */
export function callTurns<Request, Response>(askings: readonly Asking<Request, Response>[]): void {
  for (const { refund, key } of turnsOf(askings)) refund.queue.call(key);
}

/** The turns of all limits under which requests are made to wait. */
function turnsOf<Request, Response>(askings: readonly Asking<Request, Response>[]): Turn<Request, Response>[] {
  return askings.flatMap(({ layer: { refund }, parts }) =>
    refund === undefined || refund.holdMs === 0 ? [] : parts.map((part) => ({ refund, key: queueKey(part) })),
  );
}

/** Where to wait after a refusal: only if every limit that refuses makes requests wait, and waiting may help. */
function turnFor<Request, Response>(
  askings: readonly Asking<Request, Response>[],
  decision: Decision,
): Turn<Request, Response> | undefined {
  if (decision.outcome !== 'denied') return undefined;
  let turn: Turn<Request, Response> | undefined;
  let i = 0;
  for (const { layer, parts } of askings) {
    for (const part of parts) {
      const names = namesOf(part.limit);
      if (decision.policies[i]?.name !== names[0]) continue; // left out: its policy is not there
      const policies = decision.policies.slice(i, (i += names.length));
      if (policies.every(({ allowed }) => allowed)) continue;
      const { refund } = layer;
      if (refund === undefined || refund.holdMs === 0) return undefined;
      if (policies.some(({ retryAfterMs }) => retryAfterMs === null)) return undefined;
      turn ??= { refund, key: queueKey(part) };
    }
  }
  return turn;
}

function queueKey({ limit, subject }: AskedPart): string {
  return `${limit.scope} ${subject}`;
}

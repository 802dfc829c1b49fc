import { randomUUID } from 'node:crypto';
import { fixedWindow, type Ask, type Decision } from '@sluice/core';
import { LimiterDecision } from '@sluice/core/spi';
import type { Service } from '../service.ts';
import { RequestProblem } from '../transport/request-problem.ts';

/** What a decision took, as only its client keeps it: signed, so that any process of the service can settle it. */
interface Receipt {
  /** Tells reservations apart, so that each is settled once. */
  readonly id: string;
  /** When it was taken, by the clock of the store. */
  readonly atMs: number;
  /** The same by the clock of the service. */
  readonly givenAtMs: number;
  readonly cost: number;
  /** `until` is when the units expire. */
  readonly asks: readonly (Ask & { readonly until: number })[];
}

export type ReceiptKind = 'reservation' | 'slot';

/** How long a reservation can be settled. */
const LIFE_MS = 600_000;
/** Remembers that a key of a reservation was settled: longer than that, because the clocks of processes differ. */
const ONCE = fixedWindow({ limit: 1, window: 2 * LIFE_MS });

/** Writes the receipt of a decision for its client; null if it took nothing, or not from the store. */
export function writeReceipt({ access }: Service, kind: ReceiptKind, decision: Decision): string | null {
  const taken = LimiterDecision.readReceipt(decision);
  if (!decision.allowed || taken === undefined || taken.isSpent || taken.isLocal) return null;
  const asks = taken.asks
    .map(({ key, policy, cost, holder }, i) => {
      return { key, policy, cost, holder, until: decision.atMs + (decision.policies[i]?.resetAfterMs ?? 0) };
    })
    .filter(({ holder = 0 }) => kind === 'reservation' || holder > 0);
  const { atMs, cost } = decision;
  const receipt: Receipt = { id: randomUUID(), atMs, givenAtMs: Date.now(), cost, asks };
  return asks.length === 0 ? null : access.seal.close(kind, receipt);
}

/**
 * Changes the cost of a reservation to the actual one, once, however often and by whatever process it is settled: each
 * key in one script with the mark that it is. Units come back only while those that were taken count: kept for later,
 * they would come at once.
 *
 * @param hasRights - Whether the caller may charge: settling above the estimate could deny a key for a long time.
 * @throws (rejects) RequestProblem; StoreError.
 */
export async function settleReservation(
  service: Service,
  text: string,
  actual: number,
  hasRights: boolean,
): Promise<void> {
  const { id, atMs, givenAtMs, cost, asks } = open(service, 'reservation', text);
  const beyond = actual - cost;
  if (beyond > 0 && !hasRights) {
    const what = `settling above the estimate of ${String(cost)} needs the token of the service, got ${String(actual)}`;
    const instead = 'reserve the largest cost that is possible; nothing was settled';
    throw new RequestProblem(401, `${what}; ${instead}`, {}, { 'www-authenticate': 'Bearer' });
  }
  if (Date.now() - givenAtMs >= LIFE_MS) {
    const what = 'the reservation is older than ten minutes, and costs its estimate';
    throw new RequestProblem(409, `${what}; nothing was settled`);
  }
  const settleOne = async (ask: (typeof asks)[number], i: number): Promise<void> => {
    // No limiter's name begins with a minus.
    const key = `${ask.key.slice(0, ask.key.indexOf('}') + 1)}:-settled:${id}:${String(i)}`;
    const once = { key, policy: ONCE, cost: 1, isOnce: true } as const;
    // What a reset has forgotten since is not given back: others may have taken it.
    const edit = { ...ask, cost: Math.abs(beyond), holder: atMs };
    await service.core.send(beyond > 0 ? 'charge' : 'give', [once, edit]);
  };
  await Promise.all(asks.map(settleOne));
}

/** Releases slots. Repeating it does nothing. */
export async function releaseSlot(service: Service, text: string): Promise<void> {
  await service.core.send('give', open(service, 'slot', text).asks);
}

/** Makes slots expire a `ttl` from now. Returns whether all of them were still held. */
export async function renewSlot(service: Service, text: string): Promise<boolean> {
  const { figures } = await service.core.send('renew', open(service, 'slot', text).asks);
  return figures.every(([isHeld]) => isHeld === 1);
}

function open({ access }: Service, kind: ReceiptKind, text: string): Receipt {
  const receipt = access.seal.open(kind, text) as Receipt | undefined;
  if (receipt !== undefined) return receipt;
  const what = `the ${kind} was not issued by this service`;
  const why = "several processes need the same token to accept each other's";
  throw new RequestProblem(403, `${what}; ${why}; nothing was done`);
}

import { randomUUID } from 'node:crypto';
import { fixedWindow, type Ask, type Decision } from '@sluice/core';
import { LimiterDecision, type Limit } from '@sluice/core/spi';
import { makeWant } from '../limits.ts';
import type { Service } from '../service.ts';
import { RequestProblem } from '../transport/request-problem.ts';

/** What a decision took, as kept by its client: signed, so that any process of the service can settle it. */
interface Receipt {
  /** Tells reservations apart, so that each is settled once. */
  readonly id: string;
  /** When it was taken, by the clock of the store. */
  readonly atMs: number;
  readonly cost: number;
  /** `until` is when the units expire. */
  readonly asks: readonly (Ask & { readonly until: number })[];
}

export type ReceiptKind = 'reservation' | 'slot';

/** How long a reservation can be settled, and how long its settlement is remembered. */
const LIFE_MS = 600_000;

/** What clients have taken, and later settle, renew or release. Only the client keeps it. */
export class Receipts {
  readonly #service: Service;
  /** One unit for each reservation, in the store that all processes share. */
  readonly #once: Limit;

  constructor(service: Service) {
    this.#service = service;
    this.#once = service.core.limitFor(fixedWindow({ name: 'settled', limit: 1, window: LIFE_MS }));
  }

  /** Writes the receipt of a decision for its client; null if it took nothing, or not from the store. */
  write(kind: ReceiptKind, decision: Decision): string | null {
    const taken = LimiterDecision.readReceipt(decision);
    if (!decision.allowed || taken === undefined || taken.isSpent || taken.isLocal) return null;
    const asks = taken.asks
      .map(({ key, policy, cost, holder }, i) => {
        return { key, policy, cost, holder, until: decision.atMs + (decision.policies[i]?.resetAfterMs ?? 0) };
      })
      .filter(({ holder = 0 }) => kind === 'reservation' || holder > 0);
    const receipt: Receipt = { id: randomUUID(), atMs: decision.atMs, cost: decision.cost, asks };
    return asks.length === 0 ? null : this.#service.access.seal.close(kind, receipt);
  }

  /**
   * Changes the cost of a reservation to the actual one, once, however often and by whichever process it is settled.
   * Units are refunded only while the taken ones count. Takes two calls to the store, because a store edits each key
   * separately (`give`, `charge`), never depending on another key.
   *
   * @param hasRights - Whether the caller may charge: settling above the estimate could deny a key for a long time.
   * @throws (rejects) RequestProblem; StoreError.
   */
  async settle(text: string, actual: number, hasRights: boolean): Promise<void> {
    const { core } = this.#service;
    const { id, atMs, cost, asks } = this.#open('reservation', text);
    const beyond = actual - cost;
    if (beyond > 0 && !hasRights) {
      const what = `settling above the estimate of ${String(cost)} needs the token of the service, got ${String(actual)}`;
      const instead = 'reserve the largest cost that is possible; nothing was settled';
      throw new RequestProblem(401, `${what}; ${instead}`, {}, { 'www-authenticate': 'Bearer' });
    }
    const once = await core.decide('take', [makeWant(this.#once, `reservation|${id}`, 1)], {
      onStoreError: 'throw',
      isSilent: true,
    });
    if (once.atMs - atMs >= LIFE_MS) {
      const what = 'the reservation is older than ten minutes, and costs its estimate';
      throw new RequestProblem(409, `${what}; nothing was settled`);
    }
    const counted = asks.filter(({ until }) => until > once.atMs);
    if (!once.allowed || beyond === 0 || counted.length === 0) return;
    await core.send(
      beyond > 0 ? 'charge' : 'give',
      // What a reset has dropped since is not given back: others may have taken it.
      counted.map((ask) => ({ ...ask, cost: Math.abs(beyond), holder: atMs })),
    );
  }

  /** Releases slots. Repeating it does nothing. */
  async release(text: string): Promise<void> {
    await this.#service.core.send('give', this.#open('slot', text).asks);
  }

  /** Makes slots expire a `ttl` from now. Returns whether all of them were still held. */
  async renew(text: string): Promise<boolean> {
    const { figures } = await this.#service.core.send('renew', this.#open('slot', text).asks);
    return figures.every(([isHeld]) => isHeld === 1);
  }

  #open(kind: ReceiptKind, text: string): Receipt {
    const receipt = this.#service.access.seal.open(kind, text) as Receipt | undefined;
    if (receipt !== undefined) return receipt;
    const what = `the ${kind} was not issued by this service`;
    const why = "several processes need the same token to accept each other's";
    throw new RequestProblem(403, `${what}; ${why}; nothing was done`);
  }
}

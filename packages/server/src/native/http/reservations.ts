import { randomBytes } from 'node:crypto';
import { fixedWindow, type Decision } from '@sluice/core';
import { encodeSubject, limitOfPolicy, type LimitRef, type UnresolvedEdit } from '@sluice/core/service';
import { RequestProblem } from '../../listeners/request-problem.ts';
import type { Service } from '../../service.ts';

/** Units that were taken on an estimate, as the client keeps them. */
interface Reserved {
  /** Tells reservations apart, so that each is settled once. */
  readonly id: string;
  readonly estimate: number;
  /** What was charged: the name of the limit, the subject, and until when each policy is charged. */
  readonly parts: readonly (readonly [name: string, subject: string, chargedUntilMs: readonly number[]])[];
}

const KIND = 'reservation';
/** How long a reservation that was settled is remembered: as long as clients try again. */
const REMEMBERED = '1m';
const ID_BYTES = 12;

/** Reservations of this service and its siblings: the client has all that is known of one. */
export class Reservations {
  readonly #service: Service;
  /** One unit per reservation, in the store that all processes share. */
  readonly #once: LimitRef;

  constructor(service: Service) {
    this.#service = service;
    this.#once = limitOfPolicy(service.core, fixedWindow({ name: 'settled', limit: 1, window: REMEMBERED }));
  }

  /**
   * What a client needs to settle a decision; null where it took nothing, or not from the store.
   *
   * @param keys - Those of the decision: names of limits with their keys, in the order of its parts.
   */
  written(decision: Decision, keys: readonly (readonly [name: string, key: string])[]): string | null {
    const { core, access } = this.#service;
    const chargedUntil = core.settlements.receipts.chargedUntilOf(decision);
    if (chargedUntil === undefined) return null;
    const parts = keys.map(([name, key], i) => [name, encodeSubject(key), chargedUntil[i] ?? []] as const);
    const reserved: Reserved = { id: randomBytes(ID_BYTES).toString('base64url'), estimate: decision.cost, parts };
    return access.seal.close(KIND, reserved);
  }

  /**
   * Changes the cost of a reservation to the actual one. Within a minute once, however often it is sent.
   *
   * @param isTrusted - Whether the caller may refund and charge in any case.
   * @throws (rejects) RequestProblem; StoreError.
   */
  async settle(sealed: string, actual: number, isTrusted: boolean): Promise<void> {
    const { access, core } = this.#service;
    const reserved = access.seal.open(KIND, sealed, isTrusted) as Reserved | undefined;
    if (reserved === undefined) throw unknownText(KIND, 'reserve');
    const beyond = actual - reserved.estimate;
    if (beyond === 0) return;
    const op = beyond > 0 ? 'charge' : 'refund';
    const edits = reserved.parts.map(([name, subject, chargedUntilMs]): UnresolvedEdit => {
      const limit = limitNamed(name, this.#service);
      if (!('policies' in limit) || limit.policies.length === chargedUntilMs.length) {
        return { op, part: { limit, subject, cost: Math.abs(beyond) }, chargedUntilMs };
      }
      throw new RequestProblem(409, `the limit ${name} has other policies now; nothing was settled`);
    });
    const first = { limit: this.#once, subject: encodeSubject(`reservation|${reserved.id}`), cost: 1 };
    const { allowed } = await core.decide('consume', [first], 'throw');
    if (allowed) await core.settle(edits);
  }
}

/** @throws RequestProblem where the configuration has no such limit any more. */
export function limitNamed(name: string, { configuration }: Service): LimitRef {
  const known = configuration.limits.get(name);
  if (known !== undefined) return known.limit;
  throw new RequestProblem(409, `the configuration has no limit ${name} any more; nothing was done`);
}

/** The problem of a text that this service has not given out. */
export function unknownText(kind: string, from: string): RequestProblem {
  return new RequestProblem(
    403,
    `the ${kind} is none that this service has given out by /v1/${from}; several processes need the same token to know each other's; nothing was done`,
  );
}

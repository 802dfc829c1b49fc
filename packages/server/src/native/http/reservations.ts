import { randomBytes } from 'node:crypto';
import { fixedWindow, type Decision } from '@sluice/old-core';
import { encodeSubject, limitOfPolicy, type LimitRef, type UnresolvedPart } from '@sluice/old-core/spi';
import { RequestProblem } from '../../transport/request-problem.ts';
import type { Service } from '../../service.ts';

/** Units that were taken on an estimate, as the client keeps them. */
interface Reserved {
  /** Tells reservations apart, so that each is settled once. */
  readonly id: string;
  /** When they were taken, by the clock of the store. */
  readonly atMs: number;
  readonly estimate: number;
  /** The charge: the name of the limit, the subject, and until when each policy is charged. */
  readonly parts: readonly (readonly [name: string, subject: string, chargedUntilMs: readonly number[]])[];
}

const KIND = 'reservation';
/**
 * How long a reservation can be settled, and how long it is remembered that it was: then no client settles it twice.
 */
const LIFE_MS = 600_000;
const ID_BYTES = 12;
/** Others consume between the look at what is left and taking it; then it is looked at again. */
const ATTEMPTS = 3;

/** Where the units of a reservation were taken, with those that the actual cost differs by. */
interface Charge {
  readonly part: UnresolvedPart;
  readonly chargedUntilMs: readonly number[];
}

/** Reservations of this service and its siblings: the client has all that is known of one. */
export class Reservations {
  readonly #service: Service;
  /** One unit per reservation, in the store that all processes share. */
  readonly #once: LimitRef;

  constructor(service: Service) {
    this.#service = service;
    this.#once = limitOfPolicy(service.core, fixedWindow({ name: 'settled', limit: 1, window: LIFE_MS }));
  }

  /**
   * A text to settle a decision by; null where it took nothing, or not from the store.
   *
   * @param keys - Those of the decision: names of limits with their keys, in the order of its parts.
   */
  written(decision: Decision, keys: readonly (readonly [name: string, key: string])[]): string | null {
    const { core, access } = this.#service;
    const chargedUntil = core.settlements.receipts.chargedUntilOf(decision);
    if (chargedUntil === undefined) return null;
    const { atMs, cost: estimate } = decision;
    const reserved: Reserved = {
      ...{ id: randomBytes(ID_BYTES).toString('base64url'), atMs, estimate },
      parts: keys.map(([name, key], i) => [name, encodeSubject(key), chargedUntil[i] ?? []]),
    };
    return access.seal.close(KIND, reserved);
  }

  /**
   * Changes the cost of a reservation to the actual one, once, however often and by whatever process it is settled. A
   * caller without the right to charge takes no more than the keys have left: then settling denies no key for longer
   * than consuming. It gets units back only while those that were taken count: kept for later, they would come at once.
   *
   * @param isTrusted - Whether the caller may refund and charge in any case.
   * @throws (rejects) RequestProblem; StoreError.
   */
  async settle(sealed: string, actual: number, isTrusted: boolean): Promise<void> {
    const { access, core } = this.#service;
    const reserved = access.seal.open(KIND, sealed, isTrusted);
    if (!isReserved(reserved)) throw unknownText(KIND, 'reserve');
    const { id, atMs, estimate, parts } = reserved;
    const beyond = actual - estimate;
    const charges = parts.map(([name, subject, chargedUntilMs]): Charge => {
      const limit = limitNamed(name, this.#service);
      if (!('policies' in limit) || limit.policies.length === chargedUntilMs.length) {
        return { part: { limit, subject, cost: Math.abs(beyond) }, chargedUntilMs };
      }
      throw new RequestProblem(409, `the limit ${name} has other policies now; nothing was settled`);
    });
    const first = { limit: this.#once, subject: encodeSubject(`reservation|${id}`), cost: 1 };
    const once = await core.decide('consume', [first], 'throw');
    if (once.atMs - atMs >= LIFE_MS) {
      throw new RequestProblem(
        409,
        'the reservation is older than ten minutes, and costs its estimate; nothing was settled',
      );
    }
    if (!once.allowed || beyond === 0) return;
    const op = beyond > 0 ? 'charge' : 'refund';
    if (isTrusted) await core.settle(charges.map((charge) => ({ op, ...charge })));
    else if (op === 'refund') await core.settle(charges.map((charge) => ({ op, ...stillCounted(charge, once.atMs) })));
    else await this.#chargeWithinLimits(charges, once.atMs);
  }

  /** Takes the excess from what the keys have left, where the window of the estimate has not ended. */
  async #chargeWithinLimits(charges: readonly Charge[], nowMs: number): Promise<void> {
    const { core } = this.#service;
    const open = charges.filter(({ chargedUntilMs }) => chargedUntilMs.some((untilMs) => untilMs > nowMs));
    for (let attempt = 0; open.length > 0 && attempt < ATTEMPTS; attempt++) {
      const parts = open.map(({ part }) => part);
      const { outcome, policies } = await core.decide('peek', parts, 'throw');
      const left = outcome === 'blocked' ? 0 : Math.min(...policies.map(({ remaining }) => remaining));
      const cost = Math.min(parts[0]?.cost ?? 0, left);
      if (!(cost > 0)) return;
      const { allowed } = await core.decide(
        'consume',
        parts.map((part) => ({ ...part, cost })),
        'throw',
      );
      if (allowed) return;
    }
  }
}

/** The charge without policies whose window has ended, or whose bucket would be full again: 0 stands for these. */
function stillCounted({ part, chargedUntilMs }: Charge, nowMs: number): Charge {
  return { part, chargedUntilMs: chargedUntilMs.map((untilMs) => (untilMs > nowMs ? untilMs : 0)) };
}

/**
 * Whether a text that was opened is a reservation: callers that may do all of this in any case can write such texts.
 */
function isReserved(opened: unknown): opened is Reserved {
  const { id, atMs, estimate, parts } = (opened ?? {}) as Partial<Reserved>;
  const areNumbers = [atMs, estimate].every(Number.isSafeInteger);
  return typeof id === 'string' && areNumbers && Array.isArray(parts) && parts.every(isPart);
}

function isPart(part: unknown): boolean {
  if (!Array.isArray(part)) return false;
  const [name, subject, chargedUntilMs] = part as readonly unknown[];
  return isName(name) && isName(subject) && Array.isArray(chargedUntilMs) && chargedUntilMs.every(Number.isSafeInteger);
}

/** Whether a value can be the name of a limit, a subject or a holder. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
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

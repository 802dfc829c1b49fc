import type { Duration } from '@sluice/old-core';
import { checkActual, LimiterImpl } from '@sluice/old-core/spi';
import type { Configuration } from '../../config/configuration.ts';
import { RequestProblem } from '../../transport/request-problem.ts';
import type { Service } from '../../service.ts';
import { badRequest, fieldsOf, shown, type Fields } from './fields.ts';
import { LimitOverrides } from './overrides.ts';
import { Reservations } from './reservations.ts';
import { HeldSlots } from './slots.ts';
import { writtenDecision } from './written-decision.ts';

/** Keys by the names of their limits, as `Limiter.consume` takes them. */
type Keys = Readonly<Record<string, string>>;

/** The input and the effect of one operation. */
export interface Operation {
  readonly needed: readonly string[];
  readonly optional: readonly string[];
  /** Whether its caller needs the right to: it could raise a limit, or deny others. */
  readonly isPrivileged: boolean;
  /** Returns the body of the answer; undefined: none. */
  run(fields: Fields, caller: Caller): Promise<unknown>;
}

/** The operations of one name by their methods of HTTP. All but POST and PUT take their fields from the query. */
export type Methods = Readonly<Record<string, Operation>>;

/** Who asks. */
interface Caller {
  /** Whether it may do what is privileged. */
  readonly isTrusted: boolean;
}

/**
 * The operations of `/v1`, over the named limits of the configuration: those of a `Limiter`, without state in this
 * process.
 */
export class Operations {
  readonly #service: Service;
  readonly #reservations: Reservations;
  readonly #slots: HeldSlots;
  readonly #operations: Readonly<Record<string, Methods>>;
  #limiter: { readonly configuration: Configuration; readonly over: LimiterImpl<Keys> } | undefined;

  constructor(service: Service) {
    this.#service = service;
    this.#reservations = new Reservations(service);
    this.#slots = new HeldSlots(service);
    const overrides = new LimitOverrides(service);
    this.#operations = {
      consume: open(['keys'], ['cost'], ({ keys, cost }) => this.#decide('consume', keys, cost)),
      peek: open(['keys'], ['cost'], ({ keys, cost }) => this.#decide('peek', keys, cost)),
      reserve: open(['keys', 'estimate'], [], (fields) => this.#reserve(fields)),
      settle: open(['reservation', 'actual'], [], (fields, caller) => this.#settle(fields, caller)),
      acquire: open(['keys'], ['cost', 'holder'], (fields, caller) => this.#acquire(fields, caller)),
      release: open(['slot'], [], ({ slot }, { isTrusted }) => this.#slots.release(text(slot, 'slot'), isTrusted)),
      renew: open(['slot'], [], async ({ slot }, { isTrusted }) => ({
        held: await this.#slots.renew(text(slot, 'slot'), isTrusted),
      })),
      refund: privileged(['keys'], ['cost'], ({ keys, cost }) =>
        this.#over(keys).refund(keysOf(keys), cost as number | undefined),
      ),
      charge: privileged(['keys', 'cost'], [], ({ keys, cost }) =>
        this.#over(keys).charge(keysOf(keys), cost as number),
      ),
      reset: privileged(['keys'], [], ({ keys }) => this.#over(keys).reset(keysOf(keys))),
      block: privileged(['keys', 'duration'], ['reset'], ({ keys, duration, reset }) =>
        this.#over(keys).block(keysOf(keys), duration as Duration, { reset: (reset ?? false) as boolean }),
      ),
      unblock: privileged(['keys'], [], ({ keys }) => this.#over(keys).unblock(keysOf(keys))),
      overrides: {
        GET: rights(['limit'], ['key', 'prefix', 'startsWith', 'ended'], (fields) => overrides.list(fields)),
        PUT: rights(['limit', 'policy'], ['key', 'prefix', 'until', 'by', 'reason', 'dryRun'], (fields) =>
          overrides.put(fields),
        ),
        DELETE: rights(['limit'], ['key', 'prefix', 'by', 'reason'], (fields) => overrides.remove(fields)),
      },
    };
  }

  get names(): readonly string[] {
    return Object.keys(this.#operations);
  }

  /** The operations of a name; undefined where there are none. */
  find(name: string): Methods | undefined {
    return Object.hasOwn(this.#operations, name) ? this.#operations[name] : undefined;
  }

  /**
   * Does an operation.
   *
   * @throws (rejects) RequestProblem for fields that it cannot use; the errors of `Limiter`.
   */
  async run(operation: Operation, given: unknown, caller: Caller): Promise<unknown> {
    return operation.run(fieldsOf(given, operation.needed, operation.optional), caller);
  }

  async #decide(op: 'consume' | 'peek', keys: unknown, cost: unknown): Promise<unknown> {
    return writtenDecision(await this.#over(keys)[op](keysOf(keys), cost as number | undefined));
  }

  async #reserve({ keys, estimate }: Fields): Promise<unknown> {
    const given = keysOf(keys);
    const { decision } = await this.#over(keys).reserve(given, estimate as number);
    const pairs = this.#namesOf(given).map((name) => [name, given[name] ?? ''] as const);
    return { decision: writtenDecision(decision), reservation: this.#reservations.written(decision, pairs) };
  }

  async #settle({ reservation, actual }: Fields, { isTrusted }: Caller): Promise<void> {
    checkActual(actual);
    await this.#reservations.settle(text(reservation, 'reservation'), actual, isTrusted);
  }

  async #acquire({ keys, cost, holder }: Fields, { isTrusted }: Caller): Promise<unknown> {
    const given = keysOf(keys);
    if (!isTrusted) checkSecret(holder);
    const options = {
      ...(cost === undefined ? {} : { cost: cost as number }),
      ...(holder === undefined ? {} : { holder: holder as string }),
    };
    const parts = this.#over(keys).slotParts(given, options);
    const decision = await this.#service.core.decide('consume', parts);
    return {
      decision: writtenDecision(decision),
      slot: this.#slots.written(decision, parts, this.#namesOf(given)),
    };
  }

  /** The limits of the configuration, as a limiter of core. */
  #over(keys: unknown): LimiterImpl<Keys> {
    const { configuration, core } = this.#service;
    for (const [name, key] of Object.entries(keysOf(keys))) {
      this.#checkName(name, configuration);
      checkKey(name, key);
    }
    if (this.#limiter?.configuration !== configuration) {
      const limits = new Map([...configuration.limits].map(([name, { limit }]) => [name, limit]));
      this.#limiter = { configuration, over: new LimiterImpl<Keys>(core, limits) };
    }
    return this.#limiter.over;
  }

  #checkName(name: string, { limits }: Configuration): void {
    if (limits.has(name)) return;
    const known = limits.size === 0 ? 'the configuration has no limits' : `known: ${[...limits.keys()].join(', ')}`;
    throw new RequestProblem(404, `there is no limit named ${shown(name)}; ${known}; nothing was done`);
  }

  /** The names of keys, in the order in which decisions have their parts. */
  #namesOf(keys: Keys): readonly string[] {
    return [...this.#service.configuration.limits.keys()].filter((name) => Object.hasOwn(keys, name));
  }
}

function open(needed: readonly string[], optional: readonly string[], run: Operation['run']): Methods {
  return { POST: { needed, optional, run, isPrivileged: false } };
}

function privileged(needed: readonly string[], optional: readonly string[], run: Operation['run']): Methods {
  return { POST: rights(needed, optional, run) };
}

function rights(needed: readonly string[], optional: readonly string[], run: Operation['run']): Operation {
  return { needed, optional, run, isPrivileged: true };
}

/** @throws RequestProblem 400 for anything but an object that is not empty. */
function keysOf(given: unknown): Keys {
  if (typeof given === 'object' && given !== null && !Array.isArray(given) && Object.keys(given).length > 0) {
    return given as Keys;
  }
  throw badRequest(`keys must be an object with a key under the name of each limit, got ${shown(given)}`);
}

/** Core checks the texts; its methods take other values for other things, such as a decision. */
function checkKey(name: string, key: unknown): void {
  if (typeof key === 'string') return;
  const detail = `the key of ${name} must be a text that is not empty, got ${shown(key)}; nothing was done`;
  throw new RequestProblem(400, detail, { code: 'SLUICE_KEY_INVALID' });
}

/** Who knows a holder is given its slot, and can release it. */
const SHORTEST_HOLDER = 16;

/** @throws RequestProblem 400 for a holder that other clients may guess. */
function checkSecret(holder: unknown): void {
  if (typeof holder !== 'string' || holder === '' || holder.length >= SHORTEST_HOLDER) return;
  throw badRequest(
    `without the token of the service a holder must have at least ${String(SHORTEST_HOLDER)} characters, such as a random UUID, because who knows it can release its slot; got ${String(holder.length)}; nothing was done`,
  );
}

function text(given: unknown, field: string): string {
  if (typeof given === 'string') return given;
  throw badRequest(`${field} must be a text, got ${shown(given)}`);
}

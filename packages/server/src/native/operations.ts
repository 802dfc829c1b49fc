import type { Decision } from '@sluice/core';
import { denialFor, fieldWriter } from '@sluice/core/http';
import {
  editKeys,
  newHolder,
  parseDuration,
  readHolder,
  readOptions,
  readWants,
  settleKeys,
  shown,
  type Want,
} from '@sluice/core/spi';
import type { Service } from '../service.ts';
import { badRequest, type RequestProblem } from '../transport/request-problem.ts';
import { Overrides, type Fields } from './overrides.ts';
import { releaseSlot, renewSlot, settleReservation, writeReceipt } from './receipts.ts';

/** One operation of `/v1`: from here come its route, its rights and its description. */
export interface Operation {
  readonly summary: string;
  /** The fields of its body. */
  readonly needs: readonly string[];
  readonly may?: readonly string[];
  /** Whether its caller needs rights: it could raise a limit, or deny others. */
  readonly needsRights?: true;
  /** The name of the schema of its answer. Undefined: 204 without a body. */
  readonly answer?: 'Decision' | 'Reservation' | 'Acquisition' | 'Renewal' | 'Overrides' | 'Override' | 'Removal';
  readonly run: (fields: Fields, hasRights: boolean) => unknown;
}

/** The operations of `/v1` over the named limits of the configuration. No state of theirs is in this process. */
export function makeOperations(service: Service): Readonly<Record<string, Operation>> {
  const { core } = service;
  const overrides = new Overrides(service);
  const readKeys = ({ keys }: Fields, cost: unknown = 1): readonly Want[] => {
    const { limits } = service.configuration;
    if (limits.size === 0) throw badRequest('the configuration has no limits: write some under limits:');
    return readWants(limits, keys, cost as number);
  };
  const decide = async (op: 'take' | 'peek', wants: readonly Want[]): Promise<Decision> => core.decide(op, wants);
  return {
    consume: {
      summary: 'Takes units if every limit allows them. A denial is also a 200: check `allowed`.',
      needs: ['keys'],
      may: ['cost'],
      answer: 'Decision',
      run: async (fields) => write(await decide('take', readKeys(fields, fields['cost']))),
    },
    peek: {
      summary: 'Reports whether consume would be allowed. Takes nothing.',
      needs: ['keys'],
      may: ['cost'],
      answer: 'Decision',
      run: async (fields) => write(await decide('peek', readKeys(fields, fields['cost']))),
    },
    reserve: {
      summary:
        'Takes an estimate of a cost that is known only afterwards. An unsettled reservation costs its estimate.',
      needs: ['keys', 'estimate'],
      answer: 'Reservation',
      run: async (fields) => {
        const decision = await decide('take', readKeys(fields, atLeastOne(fields['estimate'], 'estimate')));
        return { decision: write(decision), reservation: writeReceipt(service, 'reservation', decision) };
      },
    },
    settle: {
      summary:
        'Reports, once, how many units of a reservation were used; the rest is refunded. More than the estimate needs the token. After ten minutes, a reservation costs its estimate.',
      needs: ['reservation', 'actual'],
      run: ({ reservation, actual }, hasRights) =>
        settleReservation(service, readText(reservation, 'reservation'), readWhole(actual, 'actual'), hasRights),
    },
    acquire: {
      summary:
        'Takes slots of a concurrency policy, and units of the others. A slot is held until it is released, or for the `ttl` of its policy after the last renewal.',
      needs: ['keys'],
      may: ['cost', 'holder'],
      answer: 'Acquisition',
      run: async (fields, hasRights) => {
        const { cost = 1, holder } = fields;
        if (!hasRights) checkSecret(holder);
        const named = holder === undefined ? undefined : readHolder(holder);
        const wants = readKeys(fields, atLeastOne(cost, 'cost'));
        if (!wants.some(({ limit }) => limit.mayHold)) throw badRequest('no policy of these keys holds slots: consume');
        const holding = wants.map((want) => {
          return { ...want, holder: named ?? newHolder(), isNamed: named !== undefined };
        });
        const decision = await decide('take', holding);
        return { decision: write(decision), slot: writeReceipt(service, 'slot', decision) };
      },
    },
    release: {
      summary: 'Releases slots. Sent again, it does nothing.',
      needs: ['slot'],
      run: ({ slot }) => releaseSlot(service, readText(slot, 'slot')),
    },
    renew: {
      summary: 'Makes slots expire a ttl from now. Slots that have expired are not held again.',
      needs: ['slot'],
      answer: 'Renewal',
      run: async ({ slot }) => ({ held: await renewSlot(service, readText(slot, 'slot')) }),
    },
    refund: {
      summary: 'Refunds units of keys, at most those that are used. Every call refunds, so do not repeat it.',
      needs: ['keys'],
      may: ['cost'],
      needsRights: true,
      run: (fields) => settleKeys(core, 'give', readKeys(fields, fields['cost'])),
    },
    charge: {
      summary: 'Counts units that were already used. Never denies.',
      needs: ['keys', 'cost'],
      needsRights: true,
      run: (fields) => settleKeys(core, 'charge', readKeys(fields, fields['cost'])),
    },
    reset: {
      summary: 'Clears what keys have used. A block stays.',
      needs: ['keys'],
      may: ['by', 'reason'],
      needsRights: true,
      run: (fields) => editKeys(core, 'reset', readKeys(fields, 0), readWhy(fields)),
    },
    block: {
      summary: 'Denies every request of the keys for a time. A later block replaces it.',
      needs: ['keys', 'duration'],
      may: ['reset', 'by', 'reason'],
      needsRights: true,
      run: (fields) => {
        const { duration, reset = false } = fields;
        if (typeof reset !== 'boolean') throw badRequest(`reset must be true or false, got ${shown(reset)}`);
        const lastsMs = parseDuration(duration, 'duration', 'SLUICE_OPTION_INVALID');
        return editKeys(core, 'block', readKeys(fields, reset ? 1 : 0), { ...readWhy(fields), until: lastsMs });
      },
    },
    unblock: {
      summary: 'Ends a block.',
      needs: ['keys'],
      may: ['by', 'reason'],
      needsRights: true,
      run: (fields) => editKeys(core, 'block', readKeys(fields, 0), readWhy(fields)),
    },
    overrides: {
      summary: 'Lists the overrides of a managed limit that are in force, at most 1000.',
      needs: ['limit'],
      needsRights: true,
      answer: 'Overrides',
      run: (fields) => overrides.list(fields),
    },
    override: {
      summary:
        'Gives a key, or all keys with a prefix, different numbers than their managed limit. Takes effect in every process within a second; used units stay used.',
      needs: ['limit', 'policy'],
      may: ['key', 'prefix', 'until', 'by', 'reason'],
      needsRights: true,
      answer: 'Override',
      run: (fields) => overrides.put(fields),
    },
    'remove-override': {
      summary: 'Removes an override.',
      needs: ['limit'],
      may: ['key', 'prefix', 'by', 'reason'],
      needsRights: true,
      answer: 'Removal',
      run: (fields) => overrides.remove(fields),
    },
  };
}

/**
 * Performs an operation.
 *
 * @throws (rejects) RequestProblem and errors of core for invalid fields.
 */
// eslint-disable-next-line @typescript-eslint/require-await -- async, so that every error is a rejection
export async function runOperation(
  name: string,
  operation: Operation,
  body: unknown,
  hasRights: boolean,
): Promise<unknown> {
  const { needs, may = [], run } = operation;
  const shape = Object.fromEntries([...needs, ...may].map((field) => [field, (given: unknown) => given]));
  const fields = readOptions(body, shape, `the body of /v1/${name}`);
  const missing = needs.find((field) => fields[field] === undefined);
  if (missing !== undefined) throw badRequest(`the field ${missing} is missing; /v1/${name} needs ${needs.join(', ')}`);
  return run(fields, hasRights);
}

/** Who edits keys, and why, for the timeline. */
function readWhy({ by, reason }: Fields): { readonly by?: string; readonly reason?: string } {
  return {
    ...(by === undefined ? {} : { by: readText(by, 'by') }),
    ...(reason === undefined ? {} : { reason: readText(reason, 'reason') }),
  };
}

const writeFields = fieldWriter();

/**
 * A decision as clients see it: without the store's error, which may contain addresses, and with `fields`, the header
 * fields for the client's response, so that clients need not write them.
 */
function write(decision: Decision): unknown {
  const own = decision.policies.length === 0 ? [] : writeFields(decision);
  const fields = [...own, ...(decision.allowed ? [] : denialFor(decision).fields)];
  return { ...decision, error: undefined, fields: Object.fromEntries(fields.map(({ name, value }) => [name, value])) };
}

/** Any client that knows a holder is given its slot, and can release it. */
const MIN_HOLDER = 16;

/** @throws RequestProblem 400 for a holder that other clients could guess. */
function checkSecret(holder: unknown): void {
  if (typeof holder !== 'string' || holder === '' || holder.length >= MIN_HOLDER) return;
  const what = `without the token of the service a holder must have at least ${String(MIN_HOLDER)} characters`;
  throw badRequest(
    `${what}, because any client that knows it can release its slot: a random UUID; got ${String(holder.length)}`,
  );
}

function readText(given: unknown, field: string): string {
  if (typeof given === 'string') return given;
  throw badRequest(`${field} must be a string, got ${shown(given)}`);
}

function readWhole(given: unknown, field: string): number {
  if (Number.isSafeInteger(given) && Number(given) >= 0) return Number(given);
  throw costInvalid(`${field} must be a whole number of units, from 0 to 2^53 - 1, got ${shown(given)}`);
}

function atLeastOne(given: unknown, field: string): unknown {
  if (given !== 0) return given;
  throw costInvalid(`${field} must be at least 1 unit, got 0`);
}

function costInvalid(detail: string): RequestProblem {
  return badRequest(detail, { code: 'SLUICE_COST_INVALID' });
}

import {
  type PolicyDecision,
  type NamedPolicy,
  type Limit,
  type Part,
  type PartAnswer,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
  StoreError,
} from '@sluice/old-core';
import { type KeySnapshot, readStates, partsOf } from '@sluice/old-core/spi';
import { failureFromJson, failureToJson, strangeAnswer } from './failure.ts';

/** The fields of a policy's decision that its limit does not tell. */
const FIELDS = ['limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'delayMs', 'nextAfterMs', 'used'] as const;
const NULLABLE: readonly string[] = ['retryAfterMs', 'nextAfterMs'];

/** The fields that most answers do not have. */
interface WrittenRest {
  readonly stale?: readonly (number | null)[];
  readonly held?: boolean;
  readonly healed?: boolean;
  readonly snapshots?: readonly WrittenSnapshot[];
}
type WrittenSnapshot = readonly [blockedUntilMs: number, version: number | null, states: string];

/** @param requests - Those that were answered, in order. */
export function answersToJson(requests: readonly StoreRequest[], answers: StoreAnswers): readonly unknown[] {
  return answers.map((answer, i) =>
    answer instanceof Error ? failureToJson(answer) : answerToJson(partsOf(requests[i] as StoreRequest), answer),
  );
}

function answerToJson(parts: readonly Part[], answer: StoreAnswer): readonly unknown[] {
  const { atMs, stale, held, healed, snapshots } = answer;
  const written = [atMs, answer.parts.map(partToJson)];
  const rest: WrittenRest = {
    ...(stale === undefined ? {} : { stale: stale.map((version) => version ?? null) }),
    ...(held === undefined ? {} : { held }),
    ...(healed === undefined ? {} : { healed }),
    ...(snapshots === undefined ? {} : snapshotsToJson(parts, snapshots)),
  };
  return Object.keys(rest).length === 0 ? written : [...written, rest];
}

function partToJson({ blocked, policies, ifConsumed, forgottenAfterMs, atMs }: PartAnswer): unknown {
  const written = [blocked, policies.map(policyToJson)];
  if ((ifConsumed ?? forgottenAfterMs ?? atMs) === undefined) return written;
  return [...written, ifConsumed?.map(policyToJson) ?? null, forgottenAfterMs ?? null, atMs ?? null];
}

function policyToJson(policy: PolicyDecision): readonly unknown[] {
  return [policy.allowed, ...FIELDS.map((field) => policy[field])];
}

/** Nothing where a state is of a version that the limit cannot read. */
function snapshotsToJson(parts: readonly Part[], snapshots: readonly KeySnapshot[]): Pick<WrittenRest, 'snapshots'> {
  const limits = parts.map(({ limit }) => limit);
  const isReadable = snapshots.every(({ version }, i) => {
    const known = limits[i]?.policyVersion;
    return known === undefined || known.version === version;
  });
  if (!isReadable) return {};
  return {
    snapshots: snapshots.map(({ blockedUntilMs, states }, i) => {
      const limit = limits[i] as Limit;
      return [blockedUntilMs, limit.policyVersion?.version ?? null, statesToText(limit, states)];
    }),
  };
}

/** As `writeValue` writes them, but for long states, which are not summarized. */
function statesToText({ policies }: Limit, states: readonly unknown[]): string {
  if (states.every((state) => state === undefined)) return '';
  return policies.map(({ algorithm }, j) => (states[j] === undefined ? '' : algorithm.encode(states[j]))).join(' ');
}

/**
 * Reads what {@link answersToJson} wrote.
 *
 * @throws StoreError `SLUICE_STORE_REPLY_INVALID` for anything else.
 */
export function answersFromJson(given: unknown, requests: readonly StoreRequest[]): StoreAnswers {
  if (!Array.isArray(given) || given.length !== requests.length) {
    throw strangeAnswer(`${String(requests.length)} answers`, given);
  }
  return given.map((answer: unknown, i) => {
    const failure = Array.isArray(answer) ? undefined : failureFromJson(answer);
    return failure ?? answerFromJson(answer, requests[i] as StoreRequest);
  });
}

function answerFromJson(given: unknown, request: StoreRequest): StoreAnswer {
  const [atMs, written, rest] = arrayOf(given, 'an answer');
  const asked = 'parts' in request ? request.parts : [];
  const parts = arrayOf(written, 'parts');
  if (parts.length !== 0 && parts.length !== asked.length) throw strangeAnswer('an answer for each part', written);
  return {
    atMs: instant(atMs),
    parts: parts.map((part, i) => partFromJson(part, (asked[i] as Part).limit)),
    ...(rest === undefined ? {} : restFromJson(rest as WrittenRest, partsOf(request))),
  };
}

function partFromJson(given: unknown, limit: Limit): PartAnswer {
  const [blocked, policies, ifConsumed, forgottenAfterMs, atMs] = arrayOf(given, 'a part');
  return {
    blocked: flagOf(blocked),
    policies: policiesFromJson(policies, limit),
    ...(isLeftOut(ifConsumed) ? {} : { ifConsumed: policiesFromJson(ifConsumed, limit) }),
    ...(isLeftOut(forgottenAfterMs) ? {} : { forgottenAfterMs: numberOf(forgottenAfterMs) }),
    ...(isLeftOut(atMs) ? {} : { atMs: instant(atMs) }),
  };
}

function policiesFromJson(given: unknown, { policies }: Limit): readonly PolicyDecision[] {
  const written = arrayOf(given, 'policies');
  if (written.length !== policies.length) throw strangeAnswer(`${String(policies.length)} policies`, given);
  return written.map((policy, j) => policyFromJson(policy, policies[j] as NamedPolicy));
}

function policyFromJson(given: unknown, { name, windowMs, algorithm: { unit } }: NamedPolicy): PolicyDecision {
  const [allowed, ...numbers] = arrayOf(given, 'a policy');
  FIELDS.forEach((field, i) => (numbers[i] === null && NULLABLE.includes(field) ? null : numberOf(numbers[i])));
  const [limit, remaining, retryAfterMs, resetAfterMs, delayMs, nextAfterMs, used] = numbers as number[];
  return {
    ...{ name, allowed: flagOf(allowed), limit, remaining, retryAfterMs, resetAfterMs, delayMs, windowMs },
    ...{ nextAfterMs, used },
    ...(unit === undefined ? {} : { unit }),
  } as PolicyDecision;
}

function restFromJson(given: WrittenRest, parts: readonly Part[]): Partial<StoreAnswer> {
  const { stale, held, healed, snapshots } = given as Readonly<Record<keyof WrittenRest, unknown>>;
  return {
    ...(stale === undefined
      ? {}
      : { stale: arrayOf(stale, 'versions').map((one) => (one === null ? undefined : numberOf(one))) }),
    ...(held === undefined ? {} : { held: flagOf(held) }),
    ...(healed === undefined ? {} : { healed: flagOf(healed) }),
    ...(snapshots === undefined ? {} : { snapshots: snapshotsFromJson(snapshots, parts) }),
  };
}

function snapshotsFromJson(given: unknown, parts: readonly Part[]): readonly KeySnapshot[] {
  const written = arrayOf(given, 'snapshots');
  if (written.length !== parts.length) throw strangeAnswer(`${String(parts.length)} snapshots`, given);
  return written.map((snapshot, i) => {
    const [blockedUntilMs, version, text] = arrayOf(snapshot, 'a snapshot');
    const states = readStates(typeof text === 'string' ? text : '?', (parts[i] as Part).limit.policies);
    if (typeof states === 'string') throw strangeAnswer('states', text);
    return {
      blockedUntilMs: numberOf(blockedUntilMs),
      states,
      ...(version === null ? {} : { version: numberOf(version) }),
    };
  });
}

function isLeftOut(given: unknown): boolean {
  return given === null || given === undefined;
}

function arrayOf(given: unknown, what: string): readonly unknown[] {
  if (Array.isArray(given)) return given as readonly unknown[];
  throw strangeAnswer(what, given);
}

function flagOf(given: unknown): boolean {
  if (typeof given === 'boolean') return given;
  throw strangeAnswer('true or false', given);
}

function numberOf(given: unknown): number {
  if (Number.isSafeInteger(given) && (given as number) >= 0) return given as number;
  throw strangeAnswer('a whole number', given);
}

/** @throws StoreError for anything but an instant. */
export function instant(given: unknown): number {
  if (Number.isSafeInteger(given) && (given as number) > 0) return given as number;
  throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the server answered without an instant');
}

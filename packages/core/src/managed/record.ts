import { getMessage, shown } from '../errors.ts';
import { MAKERS, parsePolicy, type Policy } from '../policies/index.ts';

/** A policy or an override as a source keeps it, in JSON. */
export interface PolicyRecord {
  /**
   * When it was put, in milliseconds since 1970: by the server's clock in Redis, otherwise by the clock of the process
   * that put it. Always later than the record it replaces. Of two copies of a record, the later one is valid.
   */
  readonly atMs: number;
  /** Absent: it was removed. */
  readonly policy?: Policy | undefined;
  /**
   * Increases when a policy is put after its removal, or with another kind: overrides with another number have lapsed.
   */
  readonly life: number;
  /** For a policy: the applications that may use it. Absent: all of them. */
  readonly apps?: readonly string[] | undefined;
  /** For a policy: how often a put has reset it. Part of the keys. */
  readonly resets?: number | undefined;
  /** For an override: when it ends. Absent: never. */
  readonly untilMs?: number | undefined;
  /** Who put or removed it, and why. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** A record as a put plans it; the time is added when it is written. */
export type Draft = Omit<PolicyRecord, 'atMs'>;

/** A record that was read. */
export interface Held {
  readonly record: PolicyRecord;
  /** Undefined: it was removed, or cannot be used. */
  readonly policy: Policy | undefined;
  /** Why it cannot be used. */
  readonly problem?: string;
}

/** What a hand-written record may leave out. */
export const EMPTY: PolicyRecord = { atMs: 0, life: 0 };
/** The latest instant of a Date. */
export const MAX_INSTANT = 8.64e15;
/** How many different sets of numbers share policy objects: usually those of a few plans. */
const MAX_SHARED = 10_000;

const shared = new Map<string, Policy>();

/** Reads a record of any form. Equal numbers get the same policy object, because caches and batches compare objects. */
export function readRecord(given: unknown): Held {
  const record: PolicyRecord = { ...EMPTY, ...(isObject(given) ? given : {}) };
  if (!isValid(given, record)) {
    const unknown = { ...EMPTY, atMs: readInstant(given) };
    return { record: unknown, policy: undefined, problem: 'it is not a record of a policy' };
  }
  if (!isObject(record.policy)) return { record, policy: undefined };
  try {
    const policy = sharePolicy(record.policy);
    return { record: { ...record, policy }, policy };
  } catch (error) {
    return { record, policy: undefined, problem: getMessage(error) };
  }
}

function sharePolicy(given: Policy): Policy {
  const text = JSON.stringify(given);
  const known = shared.get(text);
  if (known !== undefined) return known;
  // A source may hold any kind, so all are named here to keep them in bundles.
  if (!Object.hasOwn({ ...MAKERS, intervalBucket: true }, given.algorithm)) {
    throw new Error(`this release does not know its algorithm ${shown(given.algorithm)}`);
  }
  const policy = unnamed(parsePolicy(given));
  if (shared.size === MAX_SHARED) shared.clear();
  shared.set(text, policy);
  return policy;
}

/** A policy without its name, which is that of its record. */
export function unnamed(policy: Policy): Policy {
  const { name, ...fields } = policy;
  return name === undefined ? policy : parsePolicy(fields);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isValid(given: unknown, { atMs, life, apps, resets = 0, untilMs = 0 }: PolicyRecord): boolean {
  return (
    isObject(given) &&
    [atMs, untilMs].every(isInstant) &&
    [life, resets].every((number) => Number.isSafeInteger(number) && number >= 0) &&
    (apps === undefined || (Array.isArray(apps) && apps.every((app) => typeof app === 'string')))
  );
}

/** The time of a record of any form; 0 if it has none. */
export function readInstant(given: unknown): number {
  const atMs: unknown = isObject(given) && 'atMs' in given ? given.atMs : 0;
  return isInstant(atMs) ? atMs : 0;
}

function isInstant(atMs: unknown): atMs is number {
  return Number.isSafeInteger(atMs) && Number(atMs) >= 0 && Number(atMs) <= MAX_INSTANT;
}

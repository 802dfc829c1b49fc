import { UNIT_OF_NUMBER } from '../../config/units.ts';
import type { DescriptorEntry } from '../../config/subject.ts';
import { CallError, Status } from '../../grpc/status.ts';
import { MAX_DESCRIPTORS, MAX_DOMAIN, MAX_ENTRIES, MAX_KEY, MAX_VALUE, checkBound } from '../bounds.ts';
import { MAX_UINT32, type RateLimitDescriptor, type RateLimitOverride, type RateLimitRequest } from '../messages.ts';

/** Reads the value of a field. @throws CallError `INVALID_ARGUMENT` for another type, or more than a request may hold. */
type Read<T> = (value: unknown, at: string) => T;

/** `envoy.type.v3.RateLimitUnit`. */
const UNITS = UNIT_OF_NUMBER.slice(0, 7).map((unit) => unit.toUpperCase());
/** A number as JSON writes it, which protobuf's JSON also has as a text. */
const NUMBER = /^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The largest number that JSON can hold below 2^64. */
const MAX_UINT64 = 2 ** 64 - 2 ** 11;
const MAX_SHOWN = 64;

function text(max: number): Read<string> {
  return (value, at) => {
    if (typeof value !== 'string' || !value.isWellFormed()) throw wrong(at, 'a well-formed string', value);
    checkBound(Buffer.byteLength(value), max, `${at} has bytes:`);
    return value;
  };
}

const flag: Read<boolean> = (value, at) => {
  if (typeof value !== 'boolean') throw wrong(at, 'true or false', value);
  return value;
};

function whole(max: number): Read<number> {
  return (value, at) => {
    const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > max)
      throw wrong(at, `a whole number from 0 to ${String(BigInt(max))}`, value);
    return number;
  };
}

/** The value of an enum is given by its name or by its number, known or not. */
const unit: Read<number> = (value, at) => {
  const number = typeof value === 'string' ? UNITS.indexOf(value) : value;
  if (number === -1) throw wrong(at, `one of ${UNITS.join(', ')}`, value);
  return whole(MAX_UINT32)(number, at);
};

function list<T>(read: Read<T>, max: number): Read<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) throw wrong(at, 'a list', value);
    checkBound(value.length, max, `${at} has items:`);
    return value.map((item, i) => read(item, `${at}[${String(i)}]`));
  };
}

/** Fields have their names in JSON (`hitsAddend`) or those of the `.proto` file (`hits_addend`); null is no value. */
function message<T extends object>(byDefault: T, fields: { readonly [Name in keyof T]: Read<T[Name]> }): Read<T> {
  return (value, at) => {
    const where = at === '' ? 'the request' : at;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'an object', value);
    const given = new Map<string, unknown>();
    for (const [name, member] of Object.entries(value)) {
      const known = name.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
      if (!Object.hasOwn(fields, known))
        throw invalid(`${where} has no field ${shown(name)}; known: ${Object.keys(fields).join(', ')}`);
      if (given.has(known)) throw invalid(`${where} has the field ${known} twice`);
      const read = fields[known as keyof T];
      given.set(
        known,
        member === null ? byDefault[known as keyof T] : read(member, at === '' ? known : `${at}.${known}`),
      );
    }
    return { ...byDefault, ...Object.fromEntries(given) };
  };
}

const entry = message<DescriptorEntry>({ key: '', value: '' }, { key: text(MAX_KEY), value: text(MAX_VALUE) });
const override = message<RateLimitOverride>(
  { requestsPerUnit: 0, unit: 0 },
  { requestsPerUnit: whole(MAX_UINT32), unit },
);
const descriptor = message<RateLimitDescriptor>(
  { entries: [], limit: undefined, hitsAddend: undefined, isNegativeHits: false },
  { entries: list(entry, MAX_ENTRIES), limit: override, hitsAddend: whole(MAX_UINT64), isNegativeHits: flag },
);
const request = message<RateLimitRequest>(
  { domain: '', descriptors: [], hitsAddend: 0 },
  { domain: text(MAX_DOMAIN), descriptors: list(descriptor, MAX_DESCRIPTORS), hitsAddend: whole(MAX_UINT32) },
);

/**
 * Reads a `RateLimitRequest` of protobuf's JSON (https://protobuf.dev/programming-guides/json).
 *
 * @throws CallError `INVALID_ARGUMENT` for other JSON; it names the field, what was expected, and what came.
 */
export function readJsonRequest(json: unknown): RateLimitRequest {
  return request(json, '');
}

function wrong(at: string, expected: string, value: unknown): CallError {
  return invalid(`${at}: expected ${expected}, got ${shown(value)}`);
}

function invalid(what: string): CallError {
  return new CallError(Status.INVALID_ARGUMENT, `${what}; nothing was consumed`);
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return JSON.stringify(value).slice(0, MAX_SHOWN);
}

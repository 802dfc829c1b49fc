import type { DescriptorEntry } from '../../config/subject.ts';
import { UNIT_OF_NUMBER } from '../../config/units.ts';
import { CallError, Status } from '../../grpc/status.ts';
import { LONGEST_DOMAIN, LONGEST_KEY, LONGEST_VALUE, MOST_DESCRIPTORS, MOST_ENTRIES, checkBound } from '../bounds.ts';
import {
  LARGEST_UINT32,
  type RateLimitDescriptor,
  type RateLimitOverride,
  type RateLimitRequest,
} from '../messages.ts';

/** `envoy.type.v3.RateLimitUnit`. */
const UNITS = UNIT_OF_NUMBER.slice(0, 7).map((unit) => unit.toUpperCase());
const MAX_UINT64 = 2 ** 64;
/** A number as JSON writes it, which protobuf's JSON also has as a text. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MAX_SHOWN = 64;

/** Reads a value; undefined is the value of a field that is not there. @throws CallError `INVALID_ARGUMENT`. */
type Reader<T> = (value: unknown, at: string) => T;

const flag: Reader<boolean> = (value = false, at) => {
  if (typeof value !== 'boolean') throw wrong(at, 'true or false', value);
  return value;
};

/** A whole number, as JSON writes one or as a text. Above 2^53 it is not exact. */
function wholeNumber(min: number, max: number): Reader<number> {
  return (value = 0, at) => {
    const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number + 0;
    throw wrong(at, `a whole number from ${String(min)} to ${String(BigInt(max))}`, value);
  };
}

/** An enum's value is given by its name or by its number, known or not. */
const unit: Reader<number> = (value, at) => {
  if (typeof value !== 'string') return wholeNumber(-(2 ** 31), 2 ** 31 - 1)(value, at);
  if (!UNITS.includes(value)) throw wrong(at, `one of ${UNITS.join(', ')}`, value);
  return UNITS.indexOf(value);
};

function text(maxBytes: number): Reader<string> {
  return (value = '', at) => {
    if (typeof value !== 'string') throw wrong(at, 'a text', value);
    if (!value.isWellFormed()) throw wrong(at, 'a text without half surrogate pairs', value);
    checkBound(Buffer.byteLength(value), maxBytes, `${at} has bytes:`);
    return value;
  };
}

function list<T>(max: number, what: string, read: Reader<T>): Reader<readonly T[]> {
  return (value = [], at) => {
    if (!Array.isArray(value)) throw wrong(at, 'a list', value);
    checkBound(value.length, max, what);
    return value.map((item, i) => read(item, `${at}[${String(i)}]`));
  };
}

function optional<T>(read: Reader<T>): Reader<T | undefined> {
  return (value, at) => (value === undefined ? undefined : read(value, at));
}

/** An object, whose fields have their names in JSON (`hitsAddend`) or those of the `.proto` file (`hits_addend`). */
function message<T extends object>(
  fields: { readonly [Name in keyof T]: Reader<T[Name]> },
  isOuter = false,
): Reader<T> {
  const names = Object.keys(fields);
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(at, 'an object', value);
    const given = new Map<string, unknown>();
    for (const [key, member] of Object.entries(value)) {
      const name = names.find((one) => one === key || writtenInProto(one) === key);
      if (name === undefined) throw invalid(`${at} has no field ${shown(key)}; known: ${names.join(', ')}`);
      if (given.has(name)) throw invalid(`${at} has the field ${name} twice`);
      given.set(name, member ?? undefined); // as in protobuf's JSON, null is no value
    }
    const where = (name: string): string => (isOuter ? name : `${at}.${name}`);
    const read = Object.entries<Reader<unknown>>(fields).map(([name, one]) => [
      name,
      one(given.get(name), where(name)),
    ]);
    return Object.fromEntries(read) as T;
  };
}

const entry = message<DescriptorEntry>({ key: text(LONGEST_KEY), value: text(LONGEST_VALUE) });
const override = message<RateLimitOverride>({ requestsPerUnit: wholeNumber(0, LARGEST_UINT32), unit });
const descriptor = message<RateLimitDescriptor>({
  entries: list(MOST_ENTRIES, 'a descriptor has entries:', entry),
  limit: optional(override),
  hitsAddend: optional(wholeNumber(0, MAX_UINT64)), // a message around a number, whose JSON is the number alone
  isNegativeHits: flag,
});
const request = message<RateLimitRequest>(
  {
    domain: text(LONGEST_DOMAIN),
    descriptors: list(MOST_DESCRIPTORS, 'a request has descriptors:', descriptor),
    hitsAddend: wholeNumber(0, LARGEST_UINT32),
  },
  true,
);

/**
 * Reads a `RateLimitRequest` from protobuf's JSON: https://protobuf.dev/programming-guides/json. It has the bounds of messages.
 *
 * @throws CallError `INVALID_ARGUMENT` for other JSON; it names the field, what was expected, and what came.
 */
export function requestOfJson(json: unknown): RateLimitRequest {
  return request(json, 'the request');
}

function writtenInProto(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
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
  const written = JSON.stringify(value);
  return written.length <= MAX_SHOWN ? written : `${written.slice(0, MAX_SHOWN)}...`;
}

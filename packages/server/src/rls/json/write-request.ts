import { UNIT_OF_NUMBER } from '../../config/units.ts';
import { CallError, Status } from '../../grpc/status.ts';
import { WireWriter } from '../../protobuf/wire-writer.ts';
import { MAX_UINT32 } from '../messages.ts';

/** Writes the value of a field. @throws CallError `INVALID_ARGUMENT` for another type. */
type Write = (field: number, value: unknown, at: string) => void;

const writer = new WireWriter();
/** `envoy.type.v3.RateLimitUnit`. */
const UNITS = UNIT_OF_NUMBER.slice(0, 7).map((unit) => unit.toUpperCase());
/** A number as JSON writes it; protobuf's JSON also allows it as a string. */
const NUMBER = /^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The largest number that JSON can hold below 2^64. */
const MAX_UINT64 = 2 ** 64 - 2 ** 11;
const MAX_SHOWN = 64;

const text: Write = (field, value, at) => {
  if (typeof value !== 'string' || !value.isWellFormed()) throw wrong(at, 'a well-formed string', value);
  writer.text(field, value);
};

const flag: Write = (field, value, at) => {
  if (typeof value !== 'boolean') throw wrong(at, 'true or false', value);
  writer.number(field, Number(value));
};

function whole(max: number): Write {
  return (field, value, at) => {
    const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > max)
      throw wrong(at, `a whole number from 0 to ${String(BigInt(max))}`, value);
    writer.varint(field, number);
  };
}

/** The value of an enum: its name, or its number, known or not. */
const unit: Write = (field, value, at) => {
  const number = typeof value === 'string' ? UNITS.indexOf(value) : value;
  if (number === -1) throw wrong(at, `one of ${UNITS.join(', ')}`, value);
  whole(MAX_UINT32)(field, number, at);
};

/** A message that wraps a number: its JSON is just the number. */
const wrapped: Write = (field, value, at) => {
  const start = writer.open(field);
  whole(MAX_UINT64)(1, value, at);
  writer.close(start);
};

function list(write: Write): Write {
  return (field, value, at) => {
    if (!Array.isArray(value)) throw wrong(at, 'a list', value);
    for (const [i, item] of value.entries()) write(field, item, `${at}[${String(i)}]`);
  };
}

type Fields = Readonly<Record<string, readonly [field: number, write: Write]>>;

function message(fields: Fields): Write {
  return (field, value, at) => {
    const start = writer.open(field);
    writeFields(fields, value, `${at}.`);
    writer.close(start);
  };
}

/** Fields have their names in JSON (`hitsAddend`) or those of the `.proto` file (`hits_addend`); null is no value. */
function writeFields(fields: Fields, value: unknown, at: string): void {
  const where = at === '' ? 'the request' : at.slice(0, -1);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'an object', value);
  const given = new Set<string>();
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const known = name.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
    const [field, write] = (Object.hasOwn(fields, known) && fields[known]) || [];
    if (write === undefined || field === undefined)
      throw invalid(`${where} has no field ${shown(name)}; known: ${Object.keys(fields).join(', ')}`);
    if (given.size === given.add(known).size) throw invalid(`${where} has the field ${known} twice`);
    if (member !== null) write(field, member, at + known);
  }
}

const REQUEST: Fields = {
  domain: [1, text],
  descriptors: [
    2,
    list(
      message({
        entries: [1, list(message({ key: [1, text], value: [2, text] }))],
        limit: [2, message({ requestsPerUnit: [1, whole(MAX_UINT32)], unit: [2, unit] })],
        hitsAddend: [3, wrapped],
        isNegativeHits: [4, flag],
      }),
    ),
  ],
  hitsAddend: [3, whole(MAX_UINT32)],
};

/**
 * Writes a `RateLimitRequest`, given as protobuf's JSON (https://protobuf.dev/programming-guides/json), as a message.
 *
 * @throws CallError `INVALID_ARGUMENT` for other JSON; it names the field, what was expected and what was given.
 */
export function encodeJsonRequest(json: unknown): Buffer {
  writer.begin(0);
  writeFields(REQUEST, json, '');
  return writer.finish();
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

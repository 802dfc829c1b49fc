import { Reader } from 'protobufjs/minimal.js';
import type { DescriptorEntry } from '../config/subject.ts';
import { DELIMITED, VARINT, readFields } from '../grpc/read-fields.ts';
import { MAX_DOMAIN, MAX_KEY, MAX_VALUE, MAX_DESCRIPTORS, MAX_ENTRIES, checkBound } from './bounds.ts';
import type { RateLimitDescriptor, RateLimitOverride, RateLimitRequest } from './messages.ts';

const DOMAIN = 1 * 8 + DELIMITED;
const DESCRIPTORS = 2 * 8 + DELIMITED;
const REQUEST_HITS = 3 * 8 + VARINT;

/**
 * Decodes a `RateLimitRequest`. As in protobuf, the last value of a repeated field counts, and repeated messages are
 * merged. Unknown fields are skipped.
 *
 * Bounds are checked while decoding, so that a request with a hundred thousand descriptors costs no more than its
 * bytes.
 *
 * @throws Error for bytes that are no such message; CallError `INVALID_ARGUMENT` for more than a request may hold.
 */
export function decodeRateLimitRequest(bytes: Buffer): RateLimitRequest {
  const reader = Reader.create(bytes);
  const descriptors: RateLimitDescriptor[] = [];
  let domain = '';
  let hitsAddend = 0;
  readFields(reader, bytes.length, (tag) => {
    if (tag === DOMAIN) domain = readText(reader, MAX_DOMAIN, 'a domain has bytes:');
    else if (tag === DESCRIPTORS) {
      checkBound(descriptors.length + 1, MAX_DESCRIPTORS, 'a request has descriptors:');
      descriptors.push(readDescriptor(reader));
    } else if (tag === REQUEST_HITS) hitsAddend = reader.uint32();
    else return false;
    return true;
  });
  return { domain, descriptors, hitsAddend };
}

const ENTRIES = 1 * 8 + DELIMITED;
const LIMIT = 2 * 8 + DELIMITED;
const HITS = 3 * 8 + DELIMITED;
const NEGATIVE = 4 * 8 + VARINT;

function readDescriptor(reader: Reader): RateLimitDescriptor {
  const entries: DescriptorEntry[] = [];
  let limit: RateLimitOverride | undefined;
  let hitsAddend: number | undefined;
  let isNegativeHits = false;
  readFields(reader, reader.uint32(), (tag) => {
    if (tag === ENTRIES) {
      checkBound(entries.length + 1, MAX_ENTRIES, 'a descriptor has entries:');
      entries.push(readEntry(reader));
    } else if (tag === LIMIT) limit = readOverride(reader, limit);
    else if (tag === HITS) hitsAddend = readUInt64Value(reader, hitsAddend);
    else if (tag === NEGATIVE) isNegativeHits = reader.bool();
    else return false;
    return true;
  });
  return { entries, limit, hitsAddend, isNegativeHits };
}

const KEY = 1 * 8 + DELIMITED;
const VALUE = 2 * 8 + DELIMITED;

function readEntry(reader: Reader): DescriptorEntry {
  let key = '';
  let value = '';
  readFields(reader, reader.uint32(), (tag) => {
    if (tag === KEY) key = readText(reader, MAX_KEY, 'the key of an entry has bytes:');
    else if (tag === VALUE) value = readText(reader, MAX_VALUE, 'the value of an entry has bytes:');
    else return false;
    return true;
  });
  return { key, value };
}

const REQUESTS_PER_UNIT = 1 * 8 + VARINT;
const UNIT = 2 * 8 + VARINT;

function readOverride(reader: Reader, before: RateLimitOverride | undefined): RateLimitOverride {
  let { requestsPerUnit, unit } = before ?? { requestsPerUnit: 0, unit: 0 };
  readFields(reader, reader.uint32(), (tag) => {
    if (tag === REQUESTS_PER_UNIT) requestsPerUnit = reader.uint32();
    else if (tag === UNIT) unit = reader.int32();
    else return false;
    return true;
  });
  return { requestsPerUnit, unit };
}

const WRAPPED = 1 * 8 + VARINT;

/** Above 2^53 the number is not exact, and never below 2^53. */
function readUInt64Value(reader: Reader, before = 0): number {
  let value = before;
  readFields(reader, reader.uint32(), (tag) => {
    if (tag !== WRAPPED) return false;
    const { high, low } = reader.uint64();
    value = (high >>> 0) * 2 ** 32 + (low >>> 0);
    return true;
  });
  return value;
}

function readText(reader: Reader, max: number, what: string): string {
  const start = reader.pos;
  checkBound(reader.uint32(), max, what);
  reader.pos = start;
  return reader.stringVerify();
}

import type { DescriptorEntry } from '../config/subject.ts';
import { MAX_DOMAIN, MAX_KEY, MAX_VALUE, MAX_DESCRIPTORS, MAX_ENTRIES, checkBound } from './bounds.ts';
import type { RateLimitDescriptor, RateLimitOverride, RateLimitRequest } from './messages.ts';
import { DELIMITED, VARINT, WireReader } from '../protobuf/wire.ts';

/**
 * Decodes a `RateLimitRequest`. As in protobuf, the last value of a repeated field counts, and repeated messages are
 * merged. Unknown fields are skipped.
 *
 * Bounds are checked while decoding, so that a request with a hundred thousand descriptors costs no more than its
 * bytes.
 *
 * @throws WireError for bytes that are not such a message; CallError `INVALID_ARGUMENT` for more than a request may
 * hold.
 */
export function decodeRateLimitRequest(bytes: Buffer): RateLimitRequest {
  const reader = new WireReader(bytes);
  const descriptors: RateLimitDescriptor[] = [];
  let domain = '';
  let hitsAddend = 0;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === DOMAIN) domain = readText(reader, MAX_DOMAIN, 'a domain has bytes:');
    else if (tag === DESCRIPTORS) {
      checkBound(descriptors.length + 1, MAX_DESCRIPTORS, 'a request has descriptors:');
      descriptors.push(readDescriptor(reader));
    } else if (tag === REQUEST_HITS) hitsAddend = reader.uint32();
    else reader.skip();
  }
  return { domain, descriptors, hitsAddend };
}

const DOMAIN = 1 * 8 + DELIMITED;
const DESCRIPTORS = 2 * 8 + DELIMITED;
const REQUEST_HITS = 3 * 8 + VARINT;

const ENTRIES = 1 * 8 + DELIMITED;
const LIMIT = 2 * 8 + DELIMITED;
const HITS = 3 * 8 + DELIMITED;
const NEGATIVE = 4 * 8 + VARINT;

function readDescriptor(reader: WireReader): RateLimitDescriptor {
  const entries: DescriptorEntry[] = [];
  let limit: RateLimitOverride | undefined;
  let hitsAddend: number | undefined;
  let isNegativeHits = false;
  const outerEnd = reader.enter();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ENTRIES) {
      checkBound(entries.length + 1, MAX_ENTRIES, 'a descriptor has entries:');
      entries.push(readEntry(reader));
    } else if (tag === LIMIT) limit = readOverride(reader, limit);
    else if (tag === HITS) hitsAddend = readUInt64Value(reader, hitsAddend);
    else if (tag === NEGATIVE) isNegativeHits = reader.bool();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { entries, limit, hitsAddend, isNegativeHits };
}

const KEY = 1 * 8 + DELIMITED;
const VALUE = 2 * 8 + DELIMITED;

function readEntry(reader: WireReader): DescriptorEntry {
  let key = '';
  let value = '';
  const outerEnd = reader.enter();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === KEY) key = readText(reader, MAX_KEY, 'the key of an entry has bytes:');
    else if (tag === VALUE) value = readText(reader, MAX_VALUE, 'the value of an entry has bytes:');
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { key, value };
}

const REQUESTS_PER_UNIT = 1 * 8 + VARINT;
const UNIT = 2 * 8 + VARINT;

function readOverride(reader: WireReader, before: RateLimitOverride | undefined): RateLimitOverride {
  let { requestsPerUnit, unit } = before ?? { requestsPerUnit: 0, unit: 0 };
  const outerEnd = reader.enter();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === REQUESTS_PER_UNIT) requestsPerUnit = reader.uint32();
    else if (tag === UNIT) unit = reader.uint32() | 0;
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { requestsPerUnit, unit };
}

const WRAPPED = 1 * 8 + VARINT;

function readUInt64Value(reader: WireReader, before: number | undefined): number {
  let value = before ?? 0;
  const outerEnd = reader.enter();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === WRAPPED) value = reader.uint64();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return value;
}

function readText(reader: WireReader, longest: number, what: string): string {
  const length = reader.length();
  checkBound(length, longest, what);
  return reader.text(length);
}

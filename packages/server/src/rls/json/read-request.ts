import type { DescriptorEntry } from '../../config/configuration.ts';
import { LONGEST_DOMAIN, LONGEST_KEY, LONGEST_VALUE, MOST_DESCRIPTORS, MOST_ENTRIES, checkBound } from '../bounds.ts';
import {
  LARGEST_UINT32,
  type RateLimitDescriptor,
  type RateLimitOverride,
  type RateLimitRequest,
} from '../messages.ts';
import { listOf, membersOf } from './members.ts';
import { enumOf, flagOf, numberOf, textOf } from './scalars.ts';

/** `envoy.type.v3.RateLimitUnit`. */
const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR'];
const LARGEST_UINT64 = 2 ** 64;

/**
 * Reads a `RateLimitRequest` from protobuf's JSON: https://protobuf.dev/programming-guides/json. It has the bounds of messages.
 *
 * @throws CallError `INVALID_ARGUMENT` for other JSON; it names the field, what was expected, and what came.
 */
export function requestOfJson(json: unknown): RateLimitRequest {
  const { domain, descriptors, hitsAddend } = membersOf(json, 'the request', ['domain', 'descriptors', 'hitsAddend']);
  const list = listOf(descriptors, 'descriptors');
  checkBound(list.length, MOST_DESCRIPTORS, 'a request has descriptors:');
  return {
    domain: textOf(domain, 'domain', LONGEST_DOMAIN),
    descriptors: list.map((one, i) => descriptorOf(one, `descriptors[${String(i)}]`)),
    hitsAddend: numberOf(hitsAddend, 'hitsAddend', 0, LARGEST_UINT32),
  };
}

function descriptorOf(json: unknown, at: string): RateLimitDescriptor {
  const { entries, limit, hitsAddend, isNegativeHits } = membersOf(json, at, [
    'entries',
    'limit',
    'hitsAddend',
    'isNegativeHits',
  ]);
  const list = listOf(entries, `${at}.entries`);
  checkBound(list.length, MOST_ENTRIES, 'a descriptor has entries:');
  return {
    entries: list.map((one, i) => entryOf(one, `${at}.entries[${String(i)}]`)),
    limit: limit === undefined ? undefined : overrideOf(limit, `${at}.limit`),
    // A message around a number, whose JSON is the number alone.
    hitsAddend: hitsAddend === undefined ? undefined : numberOf(hitsAddend, `${at}.hitsAddend`, 0, LARGEST_UINT64),
    isNegativeHits: flagOf(isNegativeHits, `${at}.isNegativeHits`),
  };
}

function entryOf(json: unknown, at: string): DescriptorEntry {
  const { key, value } = membersOf(json, at, ['key', 'value']);
  return { key: textOf(key, `${at}.key`, LONGEST_KEY), value: textOf(value, `${at}.value`, LONGEST_VALUE) };
}

function overrideOf(json: unknown, at: string): RateLimitOverride {
  const { requestsPerUnit, unit } = membersOf(json, at, ['requestsPerUnit', 'unit']);
  return {
    requestsPerUnit: numberOf(requestsPerUnit, `${at}.requestsPerUnit`, 0, LARGEST_UINT32),
    unit: enumOf(unit, `${at}.unit`, UNITS),
  };
}

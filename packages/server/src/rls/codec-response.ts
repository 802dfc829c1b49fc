import type { DescriptorStatus, RateLimitResponse } from './messages.ts';
import { WireWriter } from '../protobuf/wire-writer.ts';

const writer = new WireWriter();

/**
 * Encodes a `RateLimitResponse`.
 *
 * @param prefix - Bytes to leave free before it.
 */
export function encodeRateLimitResponse(response: RateLimitResponse, prefix: number): Buffer {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response;
  writer.begin(prefix);
  writer.number(1, overallCode);
  for (let i = 0; i < statuses.length; i++) writeStatus(statuses[i] as DescriptorStatus);
  for (const { key, value } of responseHeadersToAdd) {
    const header = writer.open(3);
    writer.text(1, key);
    writer.text(2, value);
    writer.close(header);
  }
  if (dynamicMetadata !== undefined) {
    const struct = writer.open(6);
    writeFields(dynamicMetadata);
    writer.close(struct);
  }
  return writer.finish();
}

function writeStatus({ code, currentLimit, limitRemaining, secondsUntilReset }: DescriptorStatus): void {
  const status = writer.open(2);
  writer.number(1, code);
  if (currentLimit !== undefined) {
    const limit = writer.open(2);
    writer.number(1, currentLimit.requestsPerUnit);
    writer.number(2, currentLimit.unit);
    if (currentLimit.name !== undefined) writer.text(3, currentLimit.name);
    writer.close(limit);
  }
  writer.number(3, limitRemaining);
  if (secondsUntilReset !== undefined) {
    const duration = writer.open(4);
    writer.number(1, secondsUntilReset);
    writer.close(duration);
  }
  writer.close(status);
}

/** The fields of a `google.protobuf.Struct`: a map, which is a list of entries. */
function writeFields(fields: Readonly<Record<string, unknown>>): void {
  for (const key in fields) {
    const entry = writer.open(1);
    writer.text(1, key);
    writeValue(2, fields[key]);
    writer.close(entry);
  }
}

/** A `google.protobuf.Value`. One of its kinds is always written, even if it is empty. */
function writeValue(field: number, value: unknown): void {
  const wrapped = writer.open(field);
  if (typeof value === 'string') writer.textOf(3, value);
  else if (typeof value === 'number') writer.double(2, value);
  else if (typeof value === 'boolean') writer.varint(4, value ? 1 : 0);
  else if (Array.isArray(value)) {
    const list = writer.open(6);
    for (const item of value) writeValue(1, item);
    writer.close(list);
  } else if (typeof value === 'object' && value !== null) {
    const struct = writer.open(5);
    writeFields(value as Readonly<Record<string, unknown>>);
    writer.close(struct);
  } else writer.varint(1, 0);
  writer.close(wrapped);
}

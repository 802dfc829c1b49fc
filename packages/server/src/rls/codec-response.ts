import type { Writer } from 'protobufjs/minimal.js';
import { DELIMITED, FIXED64, VARINT } from '../grpc/read-fields.ts';
import type { DescriptorStatus, RateLimitResponse } from './messages.ts';

/** Writes a `RateLimitResponse`. Fields without a value are left out, as protobuf has it. */
export function writeRateLimitResponse(writer: Writer, response: RateLimitResponse): void {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response;
  writeNumber(writer, 1, overallCode);
  for (const status of statuses) writeStatus(writer, status);
  for (const { key, value } of responseHeadersToAdd) {
    open(writer, 3);
    writeText(writer, 1, key);
    writeText(writer, 2, value);
    writer.ldelim();
  }
  if (dynamicMetadata !== undefined) writeStruct(writer, 6, dynamicMetadata);
}

function writeStatus(
  writer: Writer,
  { code, currentLimit, limitRemaining, secondsUntilReset }: DescriptorStatus,
): void {
  open(writer, 2);
  writeNumber(writer, 1, code);
  if (currentLimit !== undefined) {
    open(writer, 2);
    writeNumber(writer, 1, currentLimit.requestsPerUnit);
    writeNumber(writer, 2, currentLimit.unit);
    writeText(writer, 3, currentLimit.name ?? '');
    writer.ldelim();
  }
  writeNumber(writer, 3, limitRemaining);
  if (secondsUntilReset !== undefined) {
    open(writer, 4);
    writeNumber(writer, 1, secondsUntilReset);
    writer.ldelim();
  }
  writer.ldelim();
}

/** A `google.protobuf.Struct`: a map, which is a list of entries. */
function writeStruct(writer: Writer, field: number, fields: Readonly<Record<string, unknown>>): void {
  open(writer, field);
  for (const [key, value] of Object.entries(fields)) {
    open(writer, 1);
    writeText(writer, 1, key);
    writeValue(writer, 2, value);
    writer.ldelim();
  }
  writer.ldelim();
}

/** A `google.protobuf.Value`. One of its kinds is always written, although it is empty. */
function writeValue(writer: Writer, field: number, value: unknown): void {
  open(writer, field);
  if (typeof value === 'string') writer.uint32(3 * 8 + DELIMITED).string(value);
  else if (typeof value === 'number') writer.uint32(2 * 8 + FIXED64).double(value);
  else if (typeof value === 'boolean') writer.uint32(4 * 8 + VARINT).bool(value);
  else if (Array.isArray(value)) {
    open(writer, 6);
    for (const item of value) writeValue(writer, 1, item);
    writer.ldelim();
  } else if (typeof value === 'object' && value !== null) {
    writeStruct(writer, 5, value as Readonly<Record<string, unknown>>);
  } else writer.uint32(1 * 8 + VARINT).uint32(0);
  writer.ldelim();
}

/** Begins a message inside, which `ldelim` ends. */
function open(writer: Writer, field: number): void {
  writer.uint32(field * 8 + DELIMITED).fork();
}

function writeNumber(writer: Writer, field: number, value: number): void {
  if (value !== 0) writer.uint32(field * 8 + VARINT).uint64(value);
}

function writeText(writer: Writer, field: number, value: string): void {
  if (value !== '') writer.uint32(field * 8 + DELIMITED).string(value);
}

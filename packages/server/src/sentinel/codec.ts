import { isUtf8 } from 'node:buffer';
import { PARAMETER_TYPES, formatParameter, type ParameterType } from '../config/sentinel-parameter.ts';

/** The kinds of messages. Sentinel also names CONCURRENT_FLOW_ACQUIRE and RELEASE, which have no wire format. */
export const TYPE = { ping: 0, flow: 1, paramFlow: 2 } as const;

/** `TokenResultStatus`. For all but the first two, clients fall back to their own limit, or let the request pass. */
export const STATUS = { ok: 0, blocked: 1, noRule: 3, fail: -1, badRequest: -4 } as const;

/** A client that states its application. Undefined: a blank name. */
export interface Ping {
  readonly type: typeof TYPE.ping;
  readonly xid: number;
  readonly namespace: string | undefined;
  readonly values: readonly string[];
}

/** A request for units of a rule, or of each of these values of a rule. */
export interface TokenRequest {
  readonly type: typeof TYPE.flow | typeof TYPE.paramFlow;
  readonly xid: number;
  readonly flowId: bigint;
  readonly count: number;
  /** As `formatParameter` writes them. */
  readonly values: readonly string[];
}

export type Message = Ping | TokenRequest;

/** The answer to a request for units. */
export interface TokenResult {
  readonly status: (typeof STATUS)[keyof typeof STATUS];
  /** -1 if several values have no common number. */
  readonly remaining: number;
}

const LENGTH_BYTES = 2;
/** Includes the length itself. Longer messages are skipped, as in Sentinel. */
const MAX_MESSAGE_BYTES = 1_024;
const HEAD_BYTES = 5;
const FLOW_BYTES = 12;
const PARAM_FLOW_BYTES = 16;
const MAX_INT = 2_147_483_647;
const NO_BYTES: Buffer = Buffer.alloc(0);
const NO_VALUES: readonly string[] = [];

/** Splits what a client sends into messages: a length in two bytes, then that many bytes. */
export class MessageReader {
  #bytes: Buffer = NO_BYTES;
  /** Bytes of a message that is too long. */
  #skip = 0;

  push(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  /** The next message without its length, once all of it has arrived. */
  next(): Buffer | undefined {
    for (;;) {
      const skipped = Math.min(this.#skip, this.#bytes.length);
      this.#skip -= skipped;
      this.#bytes = this.#bytes.subarray(skipped);
      const end = this.#bytes.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + this.#bytes.readUInt16BE(0);
      if (end > MAX_MESSAGE_BYTES && end !== Infinity) this.#skip = end;
      else if (end <= this.#bytes.length) {
        const message = this.#bytes.subarray(LENGTH_BYTES, end);
        this.#bytes = this.#bytes.subarray(end);
        return message;
      } else {
        this.#bytes = Buffer.from(this.#bytes); // a copy: the chunk is larger than what is left of it
        return undefined;
      }
    }
  }
}

/**
 * Reads a message.
 *
 * @returns Undefined for a message that Sentinel does not answer: of an unknown type, or shorter than it claims.
 */
export function readMessage(bytes: Buffer): Message | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const xid = bytes.readInt32BE(0);
  const data = bytes.subarray(HEAD_BYTES);
  switch (bytes.readInt8(4)) {
    case TYPE.ping:
      return readPing(xid, data);
    case TYPE.flow:
      if (data.length < FLOW_BYTES) return undefined;
      return { type: TYPE.flow, xid, flowId: data.readBigInt64BE(0), count: data.readInt32BE(8), values: NO_VALUES };
    case TYPE.paramFlow:
      return readParamFlow(xid, data);
    default:
      return undefined;
  }
}

function readPing(xid: number, data: Buffer): Message | undefined {
  const length = data.length < 4 ? 0 : data.readInt32BE(0);
  if (length <= 0 || data.length === 4) return { type: TYPE.ping, xid, namespace: undefined, values: NO_VALUES };
  if (data.length < 4 + length) return undefined;
  const namespace = data.toString('utf8', 4, 4 + length);
  return { type: TYPE.ping, xid, namespace: namespace.trim() === '' ? undefined : namespace, values: NO_VALUES };
}

function readParamFlow(xid: number, data: Buffer): TokenRequest | undefined {
  const amount = data.length < PARAM_FLOW_BYTES ? 0 : data.readInt32BE(12);
  if (amount <= 0) return undefined;
  const values: string[] = [];
  let at = PARAM_FLOW_BYTES;
  for (let i = 0; i < amount; i++) {
    if (at >= data.length) return undefined;
    const type = PARAMETER_TYPES[data.readUInt8(at++)];
    if (type === undefined) continue; // Sentinel takes the next byte for a tag
    const size = readSize(type, data, at);
    if (size < 0 || at + size > data.length) return undefined;
    values.push(readValue(type, data, at, size));
    at += size;
  }
  return { type: TYPE.paramFlow, xid, flowId: data.readBigInt64BE(0), count: data.readInt32BE(8), values };
}

/** How to read each type of fixed size, and its number of bytes. */
const FIXED: Readonly<
  Record<
    Exclude<ParameterType, 'string'>,
    readonly [size: number, read: (data: Buffer, at: number) => number | bigint | boolean]
  >
> = {
  int: [4, (data, at) => data.readInt32BE(at)],
  long: [8, (data, at) => data.readBigInt64BE(at)],
  byte: [1, (data, at) => data.readInt8(at)],
  double: [8, (data, at) => data.readDoubleBE(at)],
  float: [4, (data, at) => data.readFloatBE(at)],
  short: [2, (data, at) => data.readInt16BE(at)],
  boolean: [1, (data, at) => data.readUInt8(at) !== 0],
};

/** How many bytes a value has; below 0 if it states an invalid length. */
function readSize(type: ParameterType, data: Buffer, at: number): number {
  if (type !== 'string') return FIXED[type][0];
  if (at + 4 > data.length) return -1;
  const length = data.readInt32BE(at);
  return length < 0 ? -1 : 4 + length;
}

function readValue(type: ParameterType, data: Buffer, at: number, size: number): string {
  return type === 'string'
    ? readText(data.subarray(at + 4, at + size))
    : formatParameter(type, FIXED[type][1](data, at));
}

/** Clients write strings in their machine's encoding: bytes that are not UTF-8 are kept distinct. */
function readText(bytes: Buffer): string {
  return isUtf8(bytes) ? formatParameter('string', bytes.toString()) : `bytes:${bytes.toString('latin1')}`;
}

/** The answer to a ping: how many clients of its namespace are connected. Undefined: a ping without a name. */
export function writePong(xid: number, connected: number | undefined): Buffer {
  if (connected === undefined) return writeHead(xid, TYPE.ping, -1, 0);
  const bytes = writeHead(xid, TYPE.ping, 0, 4);
  bytes.writeInt32BE(connected, LENGTH_BYTES + 6);
  return bytes;
}

/** The answer to a request for units. */
export function writeResult(xid: number, type: number, { status, remaining }: TokenResult): Buffer {
  const bytes = writeHead(xid, type, status, 8);
  bytes.writeInt32BE(Math.min(remaining, MAX_INT), LENGTH_BYTES + 6);
  bytes.writeInt32BE(0, LENGTH_BYTES + 10); // no answer lets a request wait
  return bytes;
}

function writeHead(xid: number, type: number, status: number, dataBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + 6 + dataBytes);
  bytes.writeUInt16BE(6 + dataBytes, 0);
  bytes.writeInt32BE(xid, LENGTH_BYTES);
  bytes.writeInt8(type, LENGTH_BYTES + 4);
  bytes.writeInt8(status, LENGTH_BYTES + 5);
  return bytes;
}

import { isUtf8 } from 'node:buffer';
import { PARAMETER_TYPES, writtenParameter, type ParameterType } from '../config/sentinel-parameter.ts';
import { TYPE, type Message, type ParamFlowRequest, type TokenResult } from './messages.ts';

const LENGTH_BYTES = 2;
/** With the length itself. Longer messages are skipped, as by Sentinel. */
const MOST_MESSAGE_BYTES = 1_024;
const HEAD_BYTES = 5;
const FLOW_BYTES = 12;
const PARAM_FLOW_BYTES = 16;
const LARGEST_INT = 2_147_483_647;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** Finds messages in what a client sends: a length of two bytes, and as many bytes. Keeps less than one message. */
export class MessageReader {
  #rest: Buffer = NO_BYTES;
  /** Bytes of a message that is too long. */
  #skip = 0;

  /** @param receive - Gets each message without its length. The bytes are only valid during the call. */
  push(chunk: Buffer, receive: (message: Buffer) => void): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = Math.min(this.#skip, bytes.length);
    this.#skip -= at;
    while (bytes.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + bytes.readUInt16BE(at);
      if (end - at > MOST_MESSAGE_BYTES) {
        this.#skip = Math.max(end - bytes.length, 0);
        at = Math.min(end, bytes.length);
        continue;
      }
      if (end > bytes.length) break;
      receive(bytes.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    // A copy: the chunk is larger than what is left of it.
    this.#rest = at === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(at));
  }
}

/**
 * Reads a message.
 *
 * @returns Undefined for one that Sentinel does not answer: of an unknown type, or shorter than its own numbers say.
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
      return { type: TYPE.flow, xid, flowId: data.readBigInt64BE(0), count: data.readInt32BE(8) };
    case TYPE.paramFlow:
      return readParamFlow(xid, data);
    default:
      return undefined;
  }
}

function readPing(xid: number, data: Buffer): Message | undefined {
  const length = data.length < 4 ? 0 : data.readInt32BE(0);
  if (length <= 0 || data.length === 4) return { type: TYPE.ping, xid, namespace: undefined };
  if (data.length < 4 + length) return undefined;
  const namespace = data.toString('utf8', 4, 4 + length);
  return { type: TYPE.ping, xid, namespace: namespace.trim() === '' ? undefined : namespace };
}

function readParamFlow(xid: number, data: Buffer): ParamFlowRequest | undefined {
  const amount = data.length < PARAM_FLOW_BYTES ? 0 : data.readInt32BE(12);
  if (amount <= 0) return undefined;
  const values: string[] = [];
  let at = PARAM_FLOW_BYTES;
  for (let i = 0; i < amount; i++) {
    if (at >= data.length) return undefined;
    const type = PARAMETER_TYPES[data.readUInt8(at++)];
    if (type === undefined) continue; // Sentinel takes the next byte for a tag
    const size = sizeOf(type, data, at);
    if (size < 0 || at + size > data.length) return undefined;
    values.push(readValue(type, data, at, size));
    at += size;
  }
  return { type: TYPE.paramFlow, xid, flowId: data.readBigInt64BE(0), count: data.readInt32BE(8), values };
}

const SIZES = { int: 4, long: 8, byte: 1, double: 8, float: 4, short: 2, boolean: 1 } as const;

/** How many bytes a value has; below 0: it says that itself, wrongly. */
function sizeOf(type: ParameterType, data: Buffer, at: number): number {
  if (type !== 'string') return SIZES[type];
  if (at + 4 > data.length) return -1;
  const length = data.readInt32BE(at);
  return length < 0 ? -1 : 4 + length;
}

function readValue(type: ParameterType, data: Buffer, at: number, size: number): string {
  switch (type) {
    case 'int':
      return writtenParameter(type, data.readInt32BE(at));
    case 'long':
      return writtenParameter(type, data.readBigInt64BE(at));
    case 'byte':
      return writtenParameter(type, data.readInt8(at));
    case 'double':
      return writtenParameter(type, data.readDoubleBE(at));
    case 'float':
      return writtenParameter(type, data.readFloatBE(at));
    case 'short':
      return writtenParameter(type, data.readInt16BE(at));
    case 'boolean':
      return writtenParameter(type, data.readUInt8(at) !== 0);
    case 'string':
      return readText(data.subarray(at + 4, at + size));
  }
}

/** Clients write texts in the encoding of their machine: bytes that are not UTF-8 stay apart as what they are. */
function readText(bytes: Buffer): string {
  return isUtf8(bytes) ? writtenParameter('string', bytes.toString()) : `bytes:${bytes.toString('latin1')}`;
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
  bytes.writeInt32BE(Math.min(remaining, LARGEST_INT), LENGTH_BYTES + 6);
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

import { Reader } from 'protobufjs/minimal.js';
import { writeFrame } from '../grpc/body.ts';
import type { Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import { DELIMITED, readFields, VARINT } from '../grpc/read-fields.ts';
import type { Health } from './health.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
const [SERVING, NOT_SERVING] = [1, 2] as const;

/** The names that clients check: the whole server, and that of envoyproxy/ratelimit. */
const SERVICES: ReadonlySet<unknown> = new Set(['', 'ratelimit']);

const SERVICE = 1 * 8 + DELIMITED;
const STATUS = 1 * 8 + VARINT;

/** `grpc.health.v1.Health/Check`. There is no `Watch`: clients that want it treat its absence as healthy. */
export function makeHealthCheck(health: Health): Method {
  return {
    decode: readService,
    answer: (call) => {
      if (!SERVICES.has(call.request)) throw new CallError(Status.NOT_FOUND, 'there is no such service');
      const status = health.isServing ? SERVING : NOT_SERVING;
      call.answer(writeFrame(status, (writer) => writer.uint32(STATUS).uint32(status)));
    },
  };
}

/** Decodes a `HealthCheckRequest`: the name of a service. */
function readService(message: Buffer): string {
  const reader = Reader.create(message);
  let service = '';
  readFields(reader, message.length, (tag) => {
    if (tag === SERVICE) service = reader.stringVerify();
    return tag === SERVICE;
  });
  return service;
}

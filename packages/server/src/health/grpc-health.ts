import { framed, PREFIX_BYTES } from '../grpc/body.ts';
import type { Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import { DELIMITED, WireReader } from '../protobuf/wire.ts';
import { WireWriter } from '../protobuf/wire-writer.ts';
import type { Health } from './health.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
const [SERVING, NOT_SERVING] = [1, 2] as const;

/** The names that clients check: the whole server, and that of envoyproxy/ratelimit. */
const SERVICES: ReadonlySet<unknown> = new Set(['', 'ratelimit']);

const SERVICE = 1 * 8 + DELIMITED;

const writer = new WireWriter();

/** `grpc.health.v1.Health/Check`. There is no `Watch`: clients that want it treat its absence as healthy. */
export function makeHealthCheck(health: Health): Method {
  return {
    decode: readService,
    answer: (call) => {
      if (!SERVICES.has(call.request)) throw new CallError(Status.NOT_FOUND, 'there is no such service');
      writer.begin(PREFIX_BYTES);
      writer.number(1, health.isServing ? SERVING : NOT_SERVING);
      call.answer(framed(writer.finish()));
    },
  };
}

/** Decodes a `HealthCheckRequest`: the name of a service. */
function readService(message: Buffer): string {
  const reader = new WireReader(message);
  let service = '';
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === SERVICE) service = reader.text(reader.length());
    else reader.skip();
  }
  return service;
}

import { framed, PREFIX_BYTES } from '../grpc/body.ts';
import type { Call, Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import { DELIMITED, WireReader } from '../protobuf/wire.ts';
import { WireWriter } from '../protobuf/wire-writer.ts';
import type { Health } from './health.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
const STATUS = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;

/** The names that clients check: the whole server, and that of envoyproxy/ratelimit. */
const SERVICES: ReadonlySet<unknown> = new Set(['', 'ratelimit']);

/** Calls that watch at once, in a process. */
const MAX_WATCHERS = 1024;

const SERVICE = 1 * 8 + DELIMITED;

const writer = new WireWriter();

/** `grpc.health.v1.Health`. */
export interface HealthService {
  readonly check: Method;
  /** Sends the status now, and after each change. */
  readonly watch: Method;
  /** Ends all calls that watch, after what they have been told. */
  close(): void;
}

export function healthService(health: Health): HealthService {
  const watchers = new Set<Call>();
  const readStatus = (): number => (health.isServing ? STATUS.serving : STATUS.notServing);
  const check = (call: Call): void => {
    if (!SERVICES.has(call.request)) throw new CallError(Status.NOT_FOUND, 'there is no such service');
    call.answer(response(readStatus()));
  };
  /** A service changes once or twice in its life: those who do not read hold a few bytes. */
  const watch = (call: Call): void => {
    if (watchers.size >= MAX_WATCHERS) {
      throw new CallError(Status.RESOURCE_EXHAUSTED, `at most ${String(MAX_WATCHERS)} calls can watch`);
    }
    const { stream, request } = call;
    const isKnown = SERVICES.has(request);
    const tell = (): void => {
      if (call.isGone || stream.writableEnded) return;
      stream.write(response(isKnown ? readStatus() : STATUS.serviceUnknown));
    };
    call.begin();
    tell();
    const stop = isKnown ? health.watch(tell) : undefined;
    watchers.add(call);
    stream.on('close', () => {
      stop?.();
      watchers.delete(call);
    });
  };
  return {
    check: { decode: readService, answer: check },
    watch: { decode: readService, answer: watch },
    close: () => {
      for (const call of watchers) call.end(Status.UNAVAILABLE, 'the server shuts down');
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

/** A `HealthCheckResponse`. */
function response(status: number): Buffer {
  writer.begin(PREFIX_BYTES);
  writer.number(1, status);
  return framed(writer.finish());
}

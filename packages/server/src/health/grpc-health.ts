import { framed, PREFIX_BYTES } from '../grpc/body.ts';
import type { Call, Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import { DELIMITED, WireReader } from '../protobuf/wire.ts';
import { WireWriter } from '../protobuf/wire-writer.ts';
import type { Health } from './health.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

/** The names that clients check: the whole server, and that of envoyproxy/ratelimit. */
const SERVICES: ReadonlySet<unknown> = new Set(['', 'ratelimit']);
/** Calls that watch at once, in a process. */
const MAX_WATCHERS = 1024;

const SERVICE = 1 * 8 + DELIMITED;
const writer = new WireWriter();

/** `grpc.health.v1.Health/Check`. */
export class HealthCheck implements Method {
  readonly #health: Health;

  constructor(health: Health) {
    this.#health = health;
  }

  decode(message: Buffer): string {
    return readService(message);
  }

  answer(call: Call): void {
    if (!SERVICES.has(call.request)) throw new CallError(Status.NOT_FOUND, 'there is no such service');
    call.answer(response(statusOf(this.#health)));
  }
}

/** `grpc.health.v1.Health/Watch`: sends the status now, and after each change. */
export class HealthWatch implements Method {
  readonly #health: Health;
  readonly #watchers = new Set<Call>();

  constructor(health: Health) {
    this.#health = health;
  }

  decode(message: Buffer): string {
    return readService(message);
  }

  /** A service changes once or twice in its life: those who do not read hold a few bytes. */
  answer(call: Call): void {
    if (this.#watchers.size >= MAX_WATCHERS) {
      throw new CallError(Status.RESOURCE_EXHAUSTED, `at most ${String(MAX_WATCHERS)} calls can watch`);
    }
    const { stream, request } = call;
    const isKnown = SERVICES.has(request);
    const tell = (): void => {
      if (call.isGone || stream.writableEnded) return;
      stream.write(response(isKnown ? statusOf(this.#health) : SERVICE_UNKNOWN));
    };
    call.begin();
    tell();
    const stop = isKnown ? this.#health.watch(tell) : undefined;
    this.#watchers.add(call);
    stream.on('close', () => {
      stop?.();
      this.#watchers.delete(call);
    });
  }

  /** Ends all calls that watch, after what they have been told. */
  close(): void {
    for (const call of this.#watchers) call.end(Status.UNAVAILABLE, 'the server shuts down');
  }
}

function statusOf({ isServing }: Health): number {
  return isServing ? SERVING : NOT_SERVING;
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

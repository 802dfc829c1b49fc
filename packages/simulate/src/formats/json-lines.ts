import { UsageError } from '../terminal/failure.ts';
import { insteadOf } from '@sluice/old-core/inspect';
import { LogEntry, type LogDetail, type LogFormat } from './log-entry.ts';
import { decoded } from './decoded.ts';
import { present, requestLine } from './request-line.ts';
import { readInstant } from './stamps.ts';

/** Where an object holds what is needed: paths such as `request.client_ip`, the first that is there. */
type JsonMapping = Readonly<Record<MappedName, readonly string[]>>;

const NAMES = [
  'time',
  'start',
  'durationS',
  'durationMs',
  'durationUs',
  'address',
  'method',
  'path',
  'request',
  'status',
  'userAgent',
  'user',
] as const;
type MappedName = (typeof NAMES)[number];

/**
 * The names that nginx, Traefik, pino and others use. `time` is when a line was written, `start` when the request
 * began.
 */
const USUAL: JsonMapping = {
  time: ['time', 'timestamp', '@timestamp', 'ts', 'time_iso8601', 'msec', 'time_local', 'date'],
  start: ['start', 'start_time', 'startTime', 'StartUTC', 'request_start'],
  durationS: ['request_time', 'duration_s', 'elapsed_seconds'],
  durationMs: ['duration_ms', 'durationMs', 'responseTime', 'response_time_ms', 'latency_ms', 'elapsed_ms'],
  durationUs: ['duration_us', 'durationUs'],
  address: [
    'remote_addr',
    'client_ip',
    'clientIp',
    'remote_ip',
    'ip',
    'remoteAddress',
    'ClientHost',
    'address',
    'req.remoteAddress',
    'client',
  ],
  method: ['method', 'request_method', 'RequestMethod', 'req.method', 'http_method'],
  path: ['path', 'request_uri', 'uri', 'url', 'RequestPath', 'req.url', 'target'],
  request: ['request'],
  status: ['status', 'status_code', 'statusCode', 'response_code', 'DownstreamStatus', 'res.statusCode'],
  userAgent: ['user_agent', 'userAgent', 'http_user_agent', 'request_User-Agent', 'req.headers.user-agent'],
  user: ['user', 'remote_user', 'user_id', 'userId'],
};

/**
 * The mapping of `json:time=ts,address=client.ip`: the usual names, and these before them.
 *
 * @throws UsageError for a name that does not exist.
 */
export function jsonMapping(text: string): JsonMapping {
  const mapping: Record<string, readonly string[]> = { ...USUAL };
  for (const pair of text.split(',').filter((one) => one !== '')) {
    const [name = '', path = ''] = pair.split('=', 2);
    if (!(NAMES as readonly string[]).includes(name)) {
      throw new UsageError(`--format json has no field ${JSON.stringify(name)}; ${insteadOf(name, NAMES)}`);
    }
    if (path === '')
      throw new UsageError(`--format json: ${name}= needs the path of a field, such as ${name}=request.${name}`);
    // Given names replace the usual ones, also those of the other unit.
    if (name.startsWith('duration')) for (const unit of ['durationS', 'durationMs', 'durationUs']) mapping[unit] = [];
    if (name === 'time' || name === 'start') mapping['time'] = mapping['start'] = [];
    mapping[name] = [path];
  }
  return mapping as JsonMapping;
}

/** Lines that each hold a JSON object. */
export class JsonLinesFormat implements LogFormat {
  readonly name = 'json';
  hasFractions = false;
  readonly addressesAreBytes = false;
  readonly #mapping: JsonMapping;

  constructor(mapping: JsonMapping = USUAL) {
    this.#mapping = mapping;
  }

  read(text: string, from: number, to: number): LogEntry | undefined {
    let record: unknown;
    try {
      record = JSON.parse(decoded(text.slice(from, to)));
    } catch {
      return undefined; // counted as a line that is no request
    }
    if (typeof record !== 'object' || record === null) return undefined;
    const start = readInstant(this.#value(record, 'start'));
    const instant = start ?? readInstant(this.#value(record, 'time'));
    if (instant === undefined) return undefined;
    const durationMs = start === undefined ? this.#durationMs(record) : 0;
    if (!instant.isWholeSecond) this.hasFractions = true;
    const address = lastAddress(textOf(this.#value(record, 'address')) ?? '');
    const status = Number(this.#value(record, 'status') ?? 0);
    const atMs = Math.floor(instant.atMs - durationMs);
    return new LogEntry(this, atMs, address, whole(status), '', 0, 0, record);
  }

  detail({ parsed }: LogEntry): LogDetail {
    const record = parsed as object;
    const line = this.#value(record, 'request');
    const written = typeof line === 'string' ? requestLine(line) : undefined;
    return {
      method: textOf(this.#value(record, 'method')) ?? written?.method ?? '-',
      target: textOf(this.#value(record, 'path')) ?? written?.target ?? '-',
      userAgent: textOf(this.#value(record, 'userAgent')),
      user: textOf(this.#value(record, 'user')),
      field: (name) => textOf(at(record, name)),
    };
  }

  #value(record: object, name: MappedName): unknown {
    for (const path of this.#mapping[name]) {
      const value = at(record, path);
      if (value !== undefined && value !== null && value !== '-' && value !== '') return value;
    }
    return undefined;
  }

  #durationMs(record: object): number {
    return (
      durationOf(this.#value(record, 'durationS'), 1000) ??
      durationOf(this.#value(record, 'durationMs'), 1) ??
      durationOf(this.#value(record, 'durationUs'), 0.001) ??
      0
    );
  }
}

/** The last of a list of forwarding addresses, which the proxy itself has added. */
export function lastAddress(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim();
}

/** A value by its name, or by a path of names. A list stands for its first item, as header fields are written. */
function at(record: object, path: string): unknown {
  const direct = (record as Record<string, unknown>)[path];
  if (direct !== undefined || !path.includes('.')) return first(direct);
  let value: unknown = record;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return first(value);
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return present(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

const PART_OF_DURATION = /(\d+(?:\.\d+)?) ?(ns|us|µs|μs|ms|s|m|h)/g;
const UNITS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The expressions take time with the square of the length. */
const LONGEST_DURATION = 64;

/** Milliseconds: of a number by its unit, or of a text that has units of its own, such as `1m2.5s`. */
function durationOf(value: unknown, unitMs: number): number | undefined {
  if (typeof value === 'string' && value.length > LONGEST_DURATION) return undefined;
  const number = typeof value === 'string' && /^\d*\.?\d+$/.test(value) ? Number(value) : value;
  if (typeof number === 'number') return number >= 0 ? number * unitMs : undefined;
  if (typeof number !== 'string' || number.replace(PART_OF_DURATION, '') !== '') return undefined;
  const parts = [...number.matchAll(PART_OF_DURATION)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 1e-3), 0);
}

function whole(value: number): number {
  return value > 0 ? Math.floor(value) : 0;
}

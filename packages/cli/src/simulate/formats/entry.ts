import { readInstant } from './instants.ts';

/** The fields of one line, by their names in the format. An empty field, or `-`, is undefined. */
export interface Row {
  get(name: string): string | undefined;
}

/** How the lines of one log are read: a format may remember what it has seen. */
export interface LogFormat {
  readonly name: string;
  readonly names: Names;
  /** The fields of a line; undefined if it has another format; null if it holds names instead of a request. */
  read(line: string): Row | undefined | null;
}

/** For each part of a request, the fields that may hold it; the first one found is used. */
export type Names = Readonly<Record<Part, readonly string[]>>;
export type Part = keyof typeof USUAL;

/** The names that nginx, Apache, Traefik, Caddy, pino and others use. */
export const USUAL = {
  time: [
    ...['time', 'timestamp', '@timestamp', 'ts', 'msec', 'time_iso8601', 'time_local', 'date'],
    ...['start_time', 'startTime', 'StartUTC', 'request_start'],
  ],
  address: [
    ...['address', 'http_x_forwarded_for', 'http_x_real_ip', 'remote_addr', 'client_ip', 'clientIp', 'remote_ip', 'ip'],
    ...['remoteAddress', 'req.remoteAddress', 'request.client_ip', 'ClientHost', 'client'],
  ],
  method: ['method', 'request_method', 'RequestMethod', 'req.method', 'request.method', 'http_method'],
  path: ['path', 'request_uri', 'uri', 'url', 'RequestPath', 'req.url', 'request.uri', 'target'],
  request: ['request'],
  status: ['status', 'status_code', 'statusCode', 'response_code', 'DownstreamStatus', 'res.statusCode'],
  userAgent: ['userAgent', 'user_agent', 'http_user_agent', 'request_User-Agent', 'req.headers.user-agent'],
  user: ['user', 'remote_user', 'user_id', 'userId'],
} as const;

export const PARTS: readonly string[] = Object.keys(USUAL);

/** The usual names of a format whose lines all have the same fields. */
export function namesAmong(fields: readonly string[]): Names {
  const among = Object.entries(USUAL).map(([part, names]) => [part, names.filter((name) => fields.includes(name))]);
  return Object.fromEntries(among) as Names;
}

/** One request of a log. Parts that only some reports and keys need are read on demand. */
export class Entry {
  /** When it counts, in milliseconds since 1970. */
  atMs: number;
  /** The client as the log names it, if it does. */
  readonly address: string | undefined;
  readonly #row: Row;
  readonly #names: Names;

  constructor(atMs: number, address: string | undefined, row: Row, names: Names) {
    this.atMs = atMs;
    this.address = address;
    this.#row = row;
    this.#names = names;
  }

  /** Whether the server answered without an error. */
  get succeeded(): boolean {
    const status = Number(this.get('status'));
    return status >= 100 && status < 400;
  }

  get method(): string | undefined {
    return this.get('method') ?? /^\S+/.exec(this.get('request') ?? '')?.[0];
  }

  /** The path without its query and, if the target is a whole URL, its origin; `-` if the log has none. */
  get path(): string {
    const target = this.get('path') ?? /^\S+ (.*?)(?: HTTP\/[\d.]+)?$/.exec(this.get('request') ?? '')?.[1] ?? '-';
    return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/';
  }

  get(part: Part): string | undefined {
    return pick(this.#row, this.#names[part]);
  }

  /** Any other field. */
  field(...names: readonly string[]): string | undefined {
    return pick(this.#row, names);
  }
}

/** The request of a line; undefined for a line in another format, null for one with names. */
export function readEntry(format: LogFormat, line: string): Entry | undefined | null {
  const row = format.read(line);
  if (row === undefined || row === null) return row;
  const atMs = readInstant(pick(row, format.names.time));
  if (atMs === undefined) return undefined;
  const address = pick(row, format.names.address);
  // In a list of forwarded addresses, the last one is from the proxy itself.
  const last = address?.includes(',') === true ? address.slice(address.lastIndexOf(',') + 1).trim() : address;
  return new Entry(atMs, last, row, format.names);
}

function pick(row: Row, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = row.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The value of a field; undefined for `-` and an empty string. */
export function present(value: string): string | undefined {
  return value === '' || value === '-' ? undefined : value;
}

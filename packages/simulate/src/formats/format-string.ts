import { UsageError } from '../terminal/failure.ts';
import { LogEntry, type LogDetail, type LogFormat } from './log-entry.ts';
import { decoded } from './decoded.ts';
import { lastAddress } from './json-lines.ts';
import { endOfQuoted, present, requestLine } from './request-line.ts';
import { readInstant } from './stamps.ts';

/** A variable of a format, and the text that follows it. */
interface Piece {
  readonly name: string;
  readonly after: string;
  /** Whether it is a part of a time, whose other parts are variables beside it. */
  readonly isPart: boolean;
}

const NGINX = /\$(?:\{(\w+)\}|(\w+))/g;
const APACHE = /%[<>]?(?:\{([^}]*)\})?([a-zA-Z%])/g;

/** The beginning of nginx's `log_format main '...' '...';` and Apache's `LogFormat "..." main`. */
const DIRECTIVE = /^\s*(?:log_format\s+\S+\s+(?:escape=\w+\s+)?|(logformat)\s+)/i;
/** A piece of a format behind white space and comments: with quotes, or one word. */
const PIECE = /(?:\s|#[^\n]*\n)*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^\s;#'"]+))/sy;
const ESCAPES: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n', '"': '"', "'": "'", '\\': '\\' };

/** Apache's letters, by the names that nginx has for the same. */
const LETTERS: Readonly<Record<string, string>> = {
  a: 'remote_addr',
  h: 'remote_addr',
  u: 'remote_user',
  t: 'start',
  r: 'request',
  m: 'request_method',
  U: 'uri',
  q: 'query',
  s: 'status',
  D: 'duration_us',
  T: 'duration_s',
  v: 'server_name',
  V: 'host',
  H: 'server_protocol',
};

/** Where a format states when a request began, nothing is subtracted. */
const STARTS = ['start'];
const ENDS = ['msec', 'time_iso8601', 'time_local', 'end'];
const ADDRESSES = ['http_x_forwarded_for', 'http_x_real_ip', 'remote_addr'];

/**
 * Lines by a format string: nginx's (`$remote_addr`) or Apache's (`%h`). Times of nginx are of completion, so that
 * `$request_time` is subtracted; those of Apache are of the beginning.
 */
export class FormatStringFormat implements LogFormat {
  readonly name = 'of the format string';
  hasFractions = false;
  readonly addressesAreBytes = false;
  readonly #before: string;
  readonly #pieces: readonly Piece[];
  readonly #hasDurations: boolean;

  /** @throws UsageError for a text without variables, without a time, or with two variables side by side. */
  constructor(text: string) {
    const { before, pieces } = piecesOf(text);
    this.#before = before;
    this.#pieces = pieces;
    const names = pieces.map((piece) => piece.name);
    if (![...STARTS, ...ENDS].some((one) => names.includes(one))) {
      throw new UsageError(
        `--format needs a time: $time_local, $time_iso8601 or $msec; or %t; got ${JSON.stringify(text)}`,
      );
    }
    const isStart = STARTS.some((one) => names.includes(one));
    this.#hasDurations = !isStart && names.some((one) => one === 'request_time' || one.startsWith('duration_'));
  }

  read(text: string, from: number, to: number): LogEntry | undefined {
    const values = this.#values(text.slice(from, to)); // so that no search goes on into later lines
    if (values === undefined) return undefined;
    const instant = readInstant(valueOf(values, [...STARTS, ...ENDS]));
    if (instant === undefined) return undefined;
    if (!instant.isWholeSecond) this.hasFractions = true;
    const durationMs = this.#hasDurations ? durationOf(values) : 0;
    const address = lastAddress(valueOf(values, ADDRESSES) ?? '');
    const status = Number(values.get('status') ?? 0) || 0;
    const atMs = Math.floor(instant.atMs - durationMs);
    return new LogEntry(this, atMs, address, status, '', 0, 0, values);
  }

  detail({ parsed }: LogEntry): LogDetail {
    const values = parsed as ReadonlyMap<string, string>;
    const line = values.get('request');
    const written = line === undefined ? undefined : requestLine(line);
    const query = present(values.get('query'));
    const path = valueOf(values, ['request_uri', 'uri']);
    return {
      method: present(values.get('request_method')) ?? written?.method ?? '-',
      target: path === undefined ? (written?.target ?? '-') : `${path}${query ?? ''}`,
      userAgent: present(values.get('http_user_agent')),
      user: present(values.get('remote_user')),
      field: (name) => present(values.get(name) ?? values.get(fieldName(name))),
    };
  }

  #values(line: string): ReadonlyMap<string, string> | undefined {
    if (!line.startsWith(this.#before)) return undefined;
    const values = new Map<string, string>();
    const { length } = line;
    let at = this.#before.length;
    for (const [i, { name, after, isPart }] of this.#pieces.entries()) {
      const isQuoted = after.startsWith('"') && line.charCodeAt(at - 1) === QUOTE;
      const isLast = i === this.#pieces.length - 1;
      let end = after === '' ? length : isQuoted ? endOfQuoted(line, at, length) : line.indexOf(after, at);
      // A list without quotes goes on behind each comma.
      if (name === LIST) while (end > at && line.charCodeAt(end - 1) === COMMA) end = line.indexOf(after, end + 1);
      if (end === -1) return undefined;
      if (end + after.length > length && !isLast) return undefined;
      const value = decoded(line.slice(at, end));
      const piece = this.#pieces[i - 1];
      values.set(name, isPart && piece?.isPart === true ? `${values.get(name) ?? ''}${piece.after}${value}` : value);
      at = end + after.length;
      if (isQuoted && !line.startsWith(after, end)) return undefined;
    }
    return values;
  }
}

const [QUOTE, COMMA] = [34, 44];
const LIST = 'http_x_forwarded_for';

function fieldName(name: string): string {
  return `http_${name
    .toLowerCase()
    .replace(/^header:/, '')
    .replaceAll('-', '_')}`;
}

function valueOf(values: ReadonlyMap<string, string>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = present(values.get(name));
    if (value !== undefined) return value;
  }
  return undefined;
}

function durationOf(values: ReadonlyMap<string, string>): number {
  const seconds = Number(valueOf(values, ['request_time', 'duration_s']) ?? NaN);
  if (seconds >= 0) return seconds * 1000;
  const ms = Number(values.get('duration_ms') ?? NaN);
  if (ms >= 0) return ms;
  const us = Number(values.get('duration_us') ?? NaN);
  return us >= 0 ? us / 1000 : 0;
}

function piecesOf(given: string): { readonly before: string; readonly pieces: readonly Piece[] } {
  const written = formatOfDirective(given) ?? given.replaceAll('\\"', '"');
  const text = written.replaceAll('%U%q', '%{query}U'); // Apache's path and query have nothing between them
  const pattern = text.includes('$') ? NGINX : APACHE;
  const matches = [...text.matchAll(pattern)];
  const [first] = matches;
  if (first === undefined) {
    throw new UsageError(
      `--format is neither a known format nor a format string with variables such as $remote_addr or %h, got ${JSON.stringify(text)}`,
    );
  }
  const pieces = matches.flatMap((match, i): Piece[] => {
    const next = matches[i + 1]?.index ?? text.length;
    const name = pattern === NGINX ? (match[1] ?? match[2] ?? '') : apacheName(match);
    let after = text.slice(match.index + match[0].length, next);
    // Apache writes %t in brackets of its own.
    if (pattern === APACHE && match[0] === '%t') after = `]${after}`;
    const follower = matches[i + 1]?.[0];
    if (pattern === APACHE && follower === '%t') after = `${after}[`;
    if (after === '' && i < matches.length - 1) {
      throw new UsageError(
        `--format has nothing between ${match[0]} and ${follower ?? ''}, so that they cannot be told apart`,
      );
    }
    return [{ name, after, isPart: pattern === APACHE && PART_OF_TIME.test(match[0]) }];
  });
  const before = text.slice(0, first.index) + (pattern === APACHE && first[0] === '%t' ? '[' : '');
  return { before, pieces };
}

/** The format of a directive as a configuration file has it; undefined for other texts. */
function formatOfDirective(text: string): string | undefined {
  const directive = DIRECTIVE.exec(text);
  if (directive === null) return undefined;
  const pieces: string[] = [];
  PIECE.lastIndex = directive[0].length;
  for (let match = PIECE.exec(text); match !== null; match = PIECE.exec(text)) {
    const [, single, double, word] = match;
    pieces.push(
      (single ?? double ?? word ?? '').replace(/\\(.)/gs, (kept, escaped: string) => ESCAPES[escaped] ?? kept),
    );
    if (directive[1] !== undefined) break; // Apache has a name behind its format
  }
  return pieces.join('').trimEnd();
}

/** Apache's times by a format, and their parts of a second; not those that are one number. */
const PART_OF_TIME = /^%\{(?!(?:begin:|end:)?(?:u|m)?sec\}).*\}t$/;

function apacheName([, argument, letter = '']: RegExpMatchArray): string {
  if (letter === 'i') return fieldName(argument ?? '');
  if (letter === 't' && argument !== undefined) return argument.startsWith('end:') ? 'end' : 'start';
  if (letter === 'U' && argument === 'query') return 'request_uri';
  if (letter === 'T' && argument !== undefined) return `duration_${argument}`;
  return LETTERS[letter] ?? `%${letter}`;
}

import { UsageError } from '../../failure.ts';
import { namesAmong, present, type LogFormat, type Names, type Row } from './entry.ts';

/** A field of a format, and the text that follows it. */
interface Piece {
  readonly name: string;
  readonly after: string;
}

const NGINX = /\$(?:\{(\w+)\}|(\w+))/g;
const APACHE = /%[<>]?(?:\{([^}]*)\})?([a-zA-Z])/g;
/** Apache's letters, with nginx's names for the same fields. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ a: 'remote_addr', h: 'remote_addr', u: 'remote_user', t: 'time_local', r: 'request' },
  ...{ m: 'request_method', U: 'uri', s: 'status' },
};

const COMBINED =
  '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
const FORWARDED = 'http_x_forwarded_for';

/** Lines in a format string: nginx's (`$remote_addr`) or Apache's (`%h`). */
export class FormatString implements LogFormat {
  readonly name: string;
  readonly names: Names;
  readonly #before: string;
  readonly #pieces: readonly Piece[];
  readonly #places: ReadonlyMap<string, number>;
  /** The minimum number of fields in a line. */
  readonly #min: number;

  /** @throws UsageError for a text without fields or without a time, and with two fields side by side. */
  constructor(given: string) {
    // nginx's whole directive: log_format main '...' '...';
    const isDirective = /^\s*log_format\s/.test(given);
    const joined = isDirective ? [...given.matchAll(/'([^']*)'/g)].map(([, part]) => part).join('') : given;
    const { before, pieces } = readPieces(joined.replaceAll('\\"', '"'));
    const names = pieces.map(({ name }) => name);
    this.name = given === COMBINED ? 'combined' : 'of the format string';
    this.names = namesAmong(names);
    if (this.names.time.length === 0) {
      const expected = '--format needs a time: $time_local, $time_iso8601 or $msec; or %t';
      throw new UsageError(`${expected}; got ${JSON.stringify(given)}`);
    }
    this.#before = before;
    this.#pieces = pieces;
    this.#places = new Map(names.map((name, i) => [name, i]));
    this.#min = given === COMBINED ? names.indexOf('status') + 1 : names.length;
  }

  /** The combined and common formats of Apache and nginx, possibly followed by other fields. */
  static combined(): FormatString {
    return new FormatString(COMBINED);
  }

  read(line: string): Row | undefined {
    if (!line.startsWith(this.#before)) return undefined;
    const pieces = this.#pieces;
    const spans: number[] = [];
    let at = this.#before.length;
    for (let i = 0; i < pieces.length; i++) {
      const { name, after } = pieces[i] as Piece;
      let end = findEnd(line, at, after);
      // An unquoted list continues after each comma.
      if (name === FORWARDED) while (line[end - 1] === ',') end = line.indexOf(after, end + 1);
      if (end === -1) {
        if (i < this.#min - 1) return undefined;
        end = line.length;
      }
      spans.push(at, end);
      at = end + after.length;
      if (at > line.length) break;
    }
    if (spans.length < 2 * this.#min) return undefined;
    // A leading host and port, as in Apache's vhost_combined, is not a client.
    const first = line.slice(spans[0], spans[1]);
    if (pieces[0]?.name === 'remote_addr' && first.includes(' ')) return undefined;
    return new Fields(line, spans, this.#places);
  }
}

/** Fields, cut out of their line on demand. */
class Fields implements Row {
  readonly #line: string;
  readonly #spans: readonly number[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(line: string, spans: readonly number[], places: ReadonlyMap<string, number>) {
    this.#line = line;
    this.#spans = spans;
    this.#places = places;
  }

  get(name: string): string | undefined {
    const at = 2 * (this.#places.get(name) ?? Infinity);
    return at < this.#spans.length ? present(this.#line.slice(this.#spans[at], this.#spans[at + 1])) : undefined;
  }
}

/**
 * Where a field ends; -1 if the line does not contain its end. A quote within quotes has an odd number of backslashes
 * before it.
 */
function findEnd(line: string, at: number, after: string): number {
  if (after === '') return line.length;
  let end = line.indexOf(after, at);
  if (!after.startsWith('"') || line[at - 1] !== '"') return end;
  while (end > at && isEscaped(line, end)) end = line.indexOf(after, end + 1);
  return end;
}

function isEscaped(line: string, at: number): boolean {
  let count = 0;
  while (line[at - 1 - count] === '\\') count++;
  return count % 2 === 1;
}

function readPieces(given: string): { readonly before: string; readonly pieces: readonly Piece[] } {
  const isNginx = given.includes('$');
  const text = isNginx ? given : given.replaceAll('%t', '[%t]'); // the brackets are Apache's own
  const matches = [...text.matchAll(isNginx ? NGINX : APACHE)];
  const [first] = matches;
  if (first === undefined) {
    const expected = '--format is neither a known format nor a format string with fields such as $remote_addr or %h';
    throw new UsageError(`${expected}, got ${JSON.stringify(given)}`);
  }
  const pieces = matches.map((match, i): Piece => {
    const next = matches[i + 1];
    const after = text.slice(match.index + match[0].length, next?.index ?? text.length);
    if (after === '' && next !== undefined) {
      throw new UsageError(`--format has nothing between ${match[0]} and ${next[0]}, so they cannot be told apart`);
    }
    return { name: isNginx ? (match[1] ?? match[2] ?? '') : readApache(match), after };
  });
  return { before: text.slice(0, first.index), pieces };
}

function readApache([, argument, letter = '']: RegExpMatchArray): string {
  if (letter === 'i') return `http_${(argument ?? '').toLowerCase().replaceAll('-', '_')}`;
  return LETTERS[letter] ?? `%${letter}`;
}

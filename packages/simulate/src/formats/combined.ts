import { isIP } from 'node:net';
import { LogEntry, type LogDetail, type LogFormat } from './log-entry.ts';
import { decoded } from './decoded.ts';
import { endOfQuoted, present, requestLine } from './request-line.ts';
import { ClfStamps } from './stamps.ts';

const [SPACE, BRACKET, QUOTE, ZERO, HYPHEN] = [32, 93, 34, 48, 45];
const STAMP = '17/May/2015:10:05:03 +0000'.length;

/**
 * The combined and the common format of Apache and nginx:
 * `203.0.113.7 - user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 512 "referrer" "user agent"`. What follows is
 * left out. Reads only what every line is needed for; the rest when a report asks for it.
 */
export class CombinedFormat implements LogFormat {
  readonly name = 'combined';
  readonly hasFractions = false;
  readonly addressesAreBytes = true;
  readonly #stamps = new ClfStamps();
  #searched = '';
  #searchedFrom = 0;
  #opening: number = Infinity;

  read(text: string, from: number, to: number): LogEntry | undefined {
    let space = from;
    while (space < to && text.charCodeAt(space) !== SPACE) space++;
    const stamp = this.#stampAfter(text, space);
    const request = stamp + STAMP + 3;
    if (space === from || request >= to || text.charCodeAt(stamp + STAMP) !== BRACKET) return undefined;
    const atMs = this.#stamps.read(text, stamp);
    if (Number.isNaN(atMs) || text.charCodeAt(request - 1) !== QUOTE) return undefined;
    const end = endOfQuoted(text, request, to);
    if (end === -1) return undefined;
    let at = end + 2;
    let status = 0;
    for (let code = text.charCodeAt(at) - ZERO; code >= 0 && code <= 9; code = text.charCodeAt(++at) - ZERO) {
      status = status * 10 + code;
    }
    const address = text.slice(from, space);
    // A host and its port in front, as in Apache's `vhost_combined`, is no client.
    if (text.charCodeAt(space + 1) !== HYPHEN && isIP(address) === 0 && /:\d+$/.test(address)) return undefined;
    return new LogEntry(this, atMs, address, status, text, request, to, end);
  }

  detail(entry: LogEntry): LogDetail {
    return new CombinedDetail(entry);
  }

  /**
   * Where a stamp begins. A search that ends in a later line is not repeated for the lines between, which have none.
   */
  #stampAfter(text: string, from: number): number {
    if (text !== this.#searched || from < this.#searchedFrom || from > this.#opening) {
      const opening = text.indexOf(' [', from);
      this.#searched = text;
      this.#searchedFrom = from;
      this.#opening = opening === -1 ? Infinity : opening;
    }
    return this.#opening + 2;
  }
}

const FIELDS: readonly string[] = ['referer', 'user-agent'];

/** The rest of a line, each part of which is read when it is asked for. */
class CombinedDetail implements LogDetail {
  readonly #entry: LogEntry;
  #request: ReturnType<typeof requestLine> | undefined;
  #quoted: readonly (string | undefined)[] | undefined;

  constructor(entry: LogEntry) {
    this.#entry = entry;
  }

  get method(): string {
    return this.#requestLine().method;
  }

  get target(): string {
    return this.#requestLine().target;
  }

  get userAgent(): string | undefined {
    return this.#texts()[1];
  }

  get user(): string | undefined {
    const { text, from } = this.#entry;
    const stamp = from - STAMP - 3;
    const start = text.lastIndexOf('\n', stamp) + 1;
    const [, , ...user] = text.slice(start, stamp - 2).split(' ');
    return present(decoded(user.join(' ')));
  }

  field(name: string): string | undefined {
    const plain = name
      .toLowerCase()
      .replace(/^(?:header:|http_)/, '')
      .replaceAll('_', '-');
    return this.#texts()[FIELDS.indexOf(plain)];
  }

  #requestLine(): ReturnType<typeof requestLine> {
    const { text, from, parsed } = this.#entry;
    return (this.#request ??= requestLine(decoded(text.slice(from, parsed as number))));
  }

  #texts(): readonly (string | undefined)[] {
    const { text, to, parsed } = this.#entry;
    return (this.#quoted ??= quotedTexts(text, (parsed as number) + 1, to));
  }
}

/** The texts in quotes between two places. */
function quotedTexts(text: string, from: number, to: number): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let at = text.indexOf('"', from); at !== -1 && at < to; at = text.indexOf('"', at)) {
    const end = endOfQuoted(text, at + 1, to);
    if (end === -1) break;
    found.push(present(decoded(text.slice(at + 1, end))));
    at = end + 1;
  }
  return found;
}

import { LogEntry, type LogDetail, type LogFormat } from '../read/log-entry.ts';
import { decoded } from '../read/text-blocks.ts';
import { endOfQuoted, present, requestLine } from './request-line.ts';
import { ClfStamps } from './stamps.ts';

const [SPACE, BRACKET, QUOTE, ZERO] = [32, 93, 34, 48];
const STAMP = '17/May/2015:10:05:03 +0000'.length;

/**
 * The combined and the common format of Apache and nginx:
 * `203.0.113.7 - user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 512 "referrer" "user agent"`. What follows is left
 * out. Reads only what every line is needed for; the rest when a report asks for it.
 */
export class CombinedFormat implements LogFormat {
  readonly name = 'combined';
  readonly hasFractions = false;
  readonly hasDurations = false;
  readonly #stamps = new ClfStamps();

  read(text: string, from: number, to: number): LogEntry | undefined {
    const space = text.indexOf(' ', from);
    const stamp = text.indexOf(' [', space) + 2;
    const request = stamp + STAMP + 3;
    if (space <= from || stamp === 1 || request >= to || text.charCodeAt(stamp + STAMP) !== BRACKET) return undefined;
    const atMs = this.#stamps.read(text, stamp);
    if (Number.isNaN(atMs) || text.charCodeAt(request - 1) !== QUOTE) return undefined;
    const end = endOfQuoted(text, request, to);
    if (end === -1) return undefined;
    let at = end + 2;
    let status = 0;
    for (let code = text.charCodeAt(at) - ZERO; code >= 0 && code <= 9; code = text.charCodeAt(++at) - ZERO) {
      status = status * 10 + code;
    }
    let bytes = 0;
    if (text.charCodeAt(at) === SPACE) {
      at++;
      for (let code = text.charCodeAt(at) - ZERO; code >= 0 && code <= 9; code = text.charCodeAt(++at) - ZERO) {
        bytes = bytes * 10 + code;
      }
    }
    return new LogEntry(this, atMs, text.slice(from, space), status, bytes, text, request, to, end);
  }

  detail({ text, from, to, parsed }: LogEntry): LogDetail {
    const end = parsed as number;
    const quoted = quotedTexts(text, end + 1, to);
    const names = ['referer', 'user-agent'];
    return {
      ...requestLine(decoded(text.slice(from, end))),
      userAgent: quoted[1],
      user: this.#user(text, from),
      field: (name) =>
        quoted[
          names.indexOf(
            name
              .toLowerCase()
              .replace(/^(?:header:|http_)/, '')
              .replaceAll('_', '-'),
          )
        ],
    };
  }

  #user(text: string, request: number): string | undefined {
    const stamp = request - STAMP - 3;
    const start = text.lastIndexOf('\n', stamp) + 1;
    return present(
      decoded(
        text
          .slice(start, stamp - 2)
          .split(' ')
          .slice(2)
          .join(' '),
      ),
    );
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

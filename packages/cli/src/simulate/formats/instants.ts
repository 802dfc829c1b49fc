const MONTHS: readonly string[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** `17/May/2015:10:05:03 +0000`, as Apache and nginx write it, possibly in brackets or with fractions of a second. */
const CLF = /^\[?(\d\d)\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)(?: ([+-])(\d\d)(\d\d))?\]?$/;
const ZONE = /[zZ]$|[+-]\d\d:?\d\d$/;
/** The end of the year 9999. */
const LAST_MS = 253_402_300_800_000;

/** Most lines have the same timestamp as the line before. */
let last: { readonly text: string; readonly atMs: number | undefined } = { text: '', atMs: undefined };

/**
 * Reads an instant in any usual form, in milliseconds since 1970: ISO 8601, also with slashes, a space, or a comma
 * before the fraction, and in UTC if it has no zone; seconds, milliseconds, microseconds or nanoseconds since 1970,
 * distinguished by their size; `17/May/2015:10:05:03 +0000`. Undefined for any other text.
 */
export function readInstant(text: string | undefined): number | undefined {
  if (text === undefined || text.length > 64) return undefined;
  if (text !== last.text) {
    const atMs = Math.floor(parse(text));
    last = { text, atMs: atMs >= 0 && atMs < LAST_MS ? atMs : undefined };
  }
  return last.atMs;
}

function parse(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return readNumber(Number(text));
  const clf = CLF.exec(text);
  if (clf === null) {
    const iso = text.replace(/(:\d\d),(?=\d)/, '$1.').replace(/^(\d{4})\/(\d\d)\/(?=\d\d)/, '$1-$2-');
    if (!/^\d{4}-\d\d-\d\d/.test(iso)) return NaN;
    return Date.parse(ZONE.test(iso) ? iso : `${iso.replace(' ', 'T')}Z`);
  }
  const [, day, month = '', year, hour, minute, second, sign, hours = 0, minutes = 0] = clf;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  const at = MONTHS.indexOf(month);
  if (at === -1) return NaN;
  const minuteMs = Date.UTC(Number(year), at, Number(day), Number(hour), Number(minute) - offset);
  return minuteMs + Math.floor(Number(second) * 1000 + 1e-4);
}

function readNumber(value: number): number {
  if (value < 1e11) return value * 1000 + 1e-4;
  return value < 1e14 ? value : value / (value < 1e17 ? 1e3 : 1e6);
}

const MONTHS: readonly string[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const CLF = /^(0[1-9]|[12]\d|3[01])\/(\w{3})\/(\d{4}):([01]\d|2[0-3]):([0-5]\d):(\d\d)(?:\.\d+)? ([+-])(\d\d)(\d\d)/;
const MINUTE = '17/May/2015:10:05'.length;
const ZONE = ' +0000'.length;

/** Reads stamps such as `17/May/2015:10:05:03 +0000`; most of them are of the minute of the one before. */
export class ClfStamps {
  /** The text up to the minute, and the zone, of the last stamp. */
  #minute = '\0';
  #zone = '\0';
  #minuteMs = 0;

  /** Milliseconds since 1970; NaN for any other text. */
  read(text: string, at: number): number {
    if (!text.startsWith(this.#minute, at) || !text.startsWith(this.#zone, at + MINUTE + 3)) {
      const match = CLF.exec(text.slice(at, at + MINUTE + 3 + ZONE));
      const month = match === null ? -1 : MONTHS.indexOf(match[2] ?? '');
      if (match === null || month === -1) return NaN;
      const [, day, , year, hour, minute, , sign, hours, minutes] = match;
      const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
      this.#minuteMs = Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute)) - offset * 60_000;
      this.#minute = String.fromCharCode(...Array.from({ length: MINUTE }, (_, i) => text.charCodeAt(at + i)));
      this.#zone = ` ${sign ?? ''}${hours ?? ''}${minutes ?? ''}`;
    }
    const tens = text.charCodeAt(at + MINUTE + 1) - ZERO;
    const ones = text.charCodeAt(at + MINUTE + 2) - ZERO;
    const second = tens * 10 + ones;
    // The 60th is a leap second.
    if (tens < 0 || ones < 0 || ones > 9 || second > 60) return NaN;
    return this.#minuteMs + second * 1000;
  }
}

const ZERO = 48;

/** The instant of a value in a log, in milliseconds since 1970, and whether it has a part of a second. */
export interface ReadInstant {
  readonly atMs: number;
  readonly isWholeSecond: boolean;
}

/** The end of the year 9999: what is later is no instant of a log. */
const LAST_MS = 253_402_300_800_000;

/** Whether a number is an instant that a log may state, in milliseconds since 1970. */
export function isInstant(atMs: number): boolean {
  return atMs >= 0 && atMs < LAST_MS;
}

/**
 * Reads an instant in any usual form: ISO 8601, also with slashes, or a comma before the part of a second; seconds or
 * milliseconds, microseconds or nanoseconds since 1970, told apart by their size; `17/May/2015:10:05:03 +0000`.
 */
export function readInstant(value: unknown): ReadInstant | undefined {
  if (typeof value === 'number') return ofNumber(value, !Number.isInteger(value));
  if (typeof value !== 'string' || value === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return ofNumber(Number(value), value.includes('.'));
  const bare = value.replace(/^\[|\]$/g, '');
  if (CLF.test(bare)) {
    const wholeMs = new ClfStamps().read(bare.replace(/\.\d+ /, ' '), 0);
    const part = /\.(\d{1,3})/.exec(bare)?.[1];
    return instantOf(wholeMs + (part === undefined ? 0 : Number(part.padEnd(3, '0'))), part === undefined);
  }
  const iso = bare.replace(/(:\d\d),(?=\d)/, '$1.').replace(/^(\d{4})\/(\d\d)\/(?=\d\d)/, '$1-$2-');
  // Stamps without a zone are UTC, and not of the place where the log is read.
  const atMs = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(iso) ? iso : `${iso.replace(' ', 'T')}Z`);
  return instantOf(Math.floor(atMs), !/:\d\d\.\d/.test(iso));
}

function ofNumber(value: number, hasPart: boolean): ReadInstant | undefined {
  if (!(value > 0)) return undefined;
  if (value < 1e11) return instantOf(Math.floor(value * 1000 + 1e-4), !hasPart);
  if (value < 1e14) return instantOf(Math.floor(value), false);
  return instantOf(Math.floor(value < 1e17 ? value / 1e3 : value / 1e6), false);
}

function instantOf(atMs: number, isWholeSecond: boolean): ReadInstant | undefined {
  return isInstant(atMs) ? { atMs, isWholeSecond } : undefined;
}

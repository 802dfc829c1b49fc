const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Seconds since 1970 have at least nine digits, milliseconds twelve. */
const LEAST_EPOCH_S = 1e8;
const LEAST_EPOCH_MS = 1e11;

/** The end of the year 9999. */
const LAST_MS = 253_402_300_800_000;

/** The stamp of an access log, such as `10/Oct/2026:13:55:36 +0200`, in milliseconds since 1970. */
export function parseStamp(text: string): number | undefined {
  const match = /^(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/.exec(text);
  if (match === null) return undefined;
  const [, day, name = '', year, hour, minute, second, sign, zoneHours, zoneMinutes] = match;
  const month = MONTHS.indexOf(name);
  if (month === -1) return undefined;
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return Date.UTC(Number(year), month, Number(day), Number(hour), Number(minute), Number(second)) - zoneMs;
}

/**
 * An instant in milliseconds: ISO 8601, seconds or milliseconds since 1970, or else seconds from the start, which may
 * have `ms` or `s` behind them.
 */
export function parseInstant(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text);
  if (match !== null) {
    const number = Number(match[1]);
    const isMs = match[2] === 'ms' || (match[2] === undefined && number >= LEAST_EPOCH_MS);
    const ms = Math.floor(isMs ? number : number * 1000);
    return ms < LAST_MS ? ms : undefined;
  }
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text)) return undefined;
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whether an instant is a date, and not a time from the start. */
export function isDate(ms: number): boolean {
  return ms >= LEAST_EPOCH_S * 1000;
}

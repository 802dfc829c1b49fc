import { PolicyError, shown, type SluiceErrorCode } from '../errors.ts';
import { warnOnce } from '../warnings.ts';

/**
 * A time span: a number of milliseconds, or `'500ms'`, `'10s'`, `'5m'`, `'1h'`, `'1d'`, also with
 * decimals (`'1.5s'`). From 1 ms to 100 years, in whole milliseconds.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;

/** Options that few users mean in less than a second. */
const LENGTHS: ReadonlySet<string> = new Set(['window', 'every', 'ttl']);

/** A hundred years. Instants this far ahead are still exact integers of 13 digits. */
export const LONGEST_MS: number = 36_500 * 86_400_000;

/**
 * A duration in whole milliseconds.
 *
 * @throws PolicyError if it is not a duration, not a whole number of milliseconds, shorter than `leastMs` or longer
 * than 100 years.
 */
export function parseDuration(value: unknown, field: string, code?: SluiceErrorCode, leastMs: 0 | 1 = 1): number {
  const ms = typeof value === 'string' ? written(value) : value;
  if (typeof ms !== 'number' || Number.isNaN(ms)) {
    throw new PolicyError(
      field,
      `${field} must be a duration such as 60_000 (milliseconds) or "60s", got ${shown(value)}; known units: ms, s, m, h, d`,
      code,
    );
  }
  if (!Number.isInteger(ms) || ms < leastMs || ms > LONGEST_MS) {
    throw new PolicyError(
      field,
      `${field} must be a whole number of milliseconds from ${String(leastMs)} to 36500d, got ${shown(value)}`,
      code,
    );
  }
  if (typeof value === 'number' && LENGTHS.has(field) && looksLikeSeconds(ms)) warnOfUnit(field, ms);
  return ms;
}

/** Below a second, as `window: 60`, or minutes, hours and days in seconds: 3600 and 86_400, and not 1500 or 60_000. */
function looksLikeSeconds(ms: number): boolean {
  return ms < 1_000 || (ms % 60 === 0 && ms % 500 !== 0);
}

/** The number was probably meant as seconds. */
function warnOfUnit(field: string, ms: number): void {
  warnOnce(
    'SLUICE_UNIT_MISSING',
    `${field}: ${String(ms)} is ${String(ms)} milliseconds: write ${field}: '${String(ms)}ms' for that, or '${String(ms)}s' for seconds.`,
    field,
  );
}

function written(text: string): number | undefined {
  const match = WRITTEN.exec(text);
  if (match === null) return undefined;
  const [, amount = '', unit = ''] = match;
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  // Products such as 0.1 * 3_600_000 are not exact.
  return Math.abs(ms - Math.round(ms)) < ms * Number.EPSILON * 4 ? Math.round(ms) : ms;
}

/** A duration as options write it: in the largest unit that divides it. */
export function writtenDuration(ms: number): string {
  const [unit, length] = Object.entries(UNITS).findLast((entry) => ms >= entry[1] && ms % entry[1] === 0) ?? ['ms', 1];
  return `${String(ms / length)}${unit}`;
}

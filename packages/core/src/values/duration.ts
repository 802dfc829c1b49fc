import { PolicyError, shown, type SluiceErrorCode } from '../errors.ts';
import { warnOnce } from '../warnings.ts';

/**
 * A time span: a number of milliseconds, or `'500ms'`, `'10s'`, `'5m'`, `'1h'`, `'1d'`, also with
 * decimals (`'1.5s'`). From 1 ms to 100 years, in whole milliseconds.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;

/** A hundred years. Instants this far ahead are still exact integers of 13 digits. */
export const MAX_DURATION_MS: number = 36_500 * 86_400_000;

/**
 * A duration in whole milliseconds.
 *
 * @throws PolicyError if it is not a duration, not a whole number of milliseconds, shorter than `minMs` or longer
 * than 100 years.
 */
export function parseDuration(
  given: unknown,
  field: string,
  code: SluiceErrorCode = 'SLUICE_POLICY_INVALID',
  minMs: 0 | 1 = 1,
): number {
  const ms = typeof given === 'string' ? readWritten(given) : given;
  if (typeof ms !== 'number' || Number.isNaN(ms)) {
    const expected = 'a duration such as 60_000 (milliseconds) or "60s"';
    throw new PolicyError(
      field,
      `${field} must be ${expected}, got ${shown(given)}; ${given === undefined ? `write, for example, ${field}: "1m"` : 'known units: ms, s, m, h, d'}`,
      code,
    );
  }
  if (!Number.isInteger(ms) || ms < minMs || ms > MAX_DURATION_MS) {
    const expected = `a whole number of milliseconds from ${String(minMs)} to 36500d`;
    throw new PolicyError(field, `${field} must be ${expected}, got ${shown(given)}`, code);
  }
  if (typeof given === 'number') warnAboutSeconds(field, ms);
  return ms;
}

/** Warns about a number that was probably meant as seconds: `window: 60` limits nothing, and 86_400 is not a day. */
function warnAboutSeconds(field: string, ms: number): void {
  const isSuspect = ms < 1_000 || (ms % 60 === 0 && ms % 500 !== 0);
  if (!isSuspect || !/^(window|every|ttl)$/.test(field)) return;
  const written = `write ${field}: '${String(ms)}ms' for that, or '${String(ms)}s' for seconds.`;
  warnOnce('SLUICE_UNIT_MISSING', `${field}: ${String(ms)} is ${String(ms)} milliseconds: ${written}`, field);
}

function readWritten(text: string): number | undefined {
  const match = WRITTEN.exec(text);
  if (match === null) return undefined;
  const [, amount = '', unit = ''] = match;
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  // Products such as 0.1 * 3_600_000 are not exact.
  return Math.abs(ms - Math.round(ms)) < ms * Number.EPSILON * 4 ? Math.round(ms) : ms;
}

/** A duration as options write it: in the largest unit that divides it. */
export function writeDuration(ms: number): string {
  const [unit, length] = Object.entries(UNITS).findLast((entry) => ms >= entry[1] && ms % entry[1] === 0) ?? ['ms', 1];
  return `${String(ms / length)}${unit}`;
}

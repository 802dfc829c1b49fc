import { invalid, type Reader } from './shape.ts';

/** The largest integer in a structured header field (RFC 9651), hence the largest limit that a response can report. */
export const MAX_LIMIT = 999_999_999_999_999;

/** A whole number of units of a policy. `instead` is added to the error of a larger number. */
// @__NO_SIDE_EFFECTS__
export function units(
  min: 0 | 1,
  max: number = MAX_LIMIT,
  instead = 'to limit nothing, leave the policy out',
): Reader<number> {
  return (given, field, code) => {
    const isWhole = typeof given === 'number' && Number.isInteger(given) && !Object.is(given, -0);
    if (isWhole && given >= min && given <= max) return given;
    const expected = `a whole number from ${String(min)} to ${String(max)}`;
    throw invalid(field, expected, given, code, findHint(given, field, min, max, instead));
  };
}

/** What to write instead of a bad number of units, if that is known. */
function findHint(given: unknown, field: string, min: number, max: number, instead: string): string {
  if (given === undefined) return `; write, for example, ${field}: 100`;
  if (typeof given === 'string' && given.trim() !== '' && Number.isInteger(Number(given)) && Number(given) >= min) {
    return `; write ${field}: ${String(Number(given))}`;
  }
  if (typeof given !== 'number') return '';
  if (given > 0 && given < 1) return '; for less than one unit per window, write one unit and a longer window';
  if (given > max) return `; ${instead}`;
  if (given <= 0 && min === 1)
    return '; to deny everything, write fixedWindow({ limit: 0, window: "1m" }), or use limiter.block(key, duration)';
  return '';
}

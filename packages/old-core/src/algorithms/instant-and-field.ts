import type { StateAlone } from './algorithm.ts';

/**
 * The layout of most states: an instant in milliseconds and one more integer. A field below a million follows the
 * instant with six digits, which makes one integer that Redis keeps as a number (132 instead of 164 bytes a key); a
 * larger one follows a colon.
 */
export function encodePair(instantMs: number, field: number): string {
  return field < 1_000_000
    ? `${String(instantMs)}${String(field).padStart(6, '0')}`
    : `${String(instantMs)}:${String(field)}`;
}

/** Reads what {@link encodePair} wrote; undefined for any other text. */
export function decodePair(text: string): readonly [instantMs: number, field: number] | undefined {
  const colon = text.indexOf(':');
  // The text is split before it becomes numbers: 19 digits do not fit a double.
  const ending = colon === -1 ? text.length - 6 : colon;
  const instantMs = digitsOf(text, 0, ending);
  const field = digitsOf(text, colon === -1 ? ending : colon + 1, text.length);
  return instantMs === -1 || field === -1 ? undefined : [instantMs, field];
}

/** Digits as a number, or undefined. */
export function toInteger(digits: string): number | undefined {
  const value = digitsOf(digits, 0, digits.length);
  return value === -1 ? undefined : value;
}

/**
 * Integers with colons between; undefined if a part is none. The parts do not become texts of their own, because every
 * decision in Redis reads a state.
 */
export function integersOf(text: string): number[] | undefined {
  const values: number[] = [];
  for (let from = 0; from <= text.length;) {
    const colon = text.indexOf(':', from);
    const upto = colon === -1 ? text.length : colon;
    const value = digitsOf(text, from, upto);
    if (value === -1) return undefined;
    values.push(value);
    from = upto + 1;
  }
  return values;
}

/** The digits between two indexes as a number; -1 if there are none, or the number is not a safe integer. */
export function digitsOf(text: string, from: number, upto: number): number {
  if (upto <= from) return -1;
  let value = 0;
  for (let i = from; i < upto; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
    if (value > Number.MAX_SAFE_INTEGER) return -1;
  }
  return value;
}

/** The figures of a state of an instant and a fraction of a millisecond: its units depend on the rate of the policy. */
export function untilInstant(instantMs: number, part: number, nowMs: number): StateAlone {
  const resetAtMs = part > 0 ? instantMs + 1 : instantMs;
  return { used: resetAtMs <= nowMs ? 0 : null, resetAtMs };
}

/**
 * The layout that most states share: an instant in milliseconds and one more integer. Below a million the field is
 * written behind the instant with six digits, which makes one integer that Redis keeps as a number (132 instead of 164
 * bytes a key); from a million on, behind a colon.
 */
export function encodePair(instantMs: number, field: number): string {
  return field < 1_000_000
    ? `${String(instantMs)}${String(field).padStart(6, '0')}`
    : `${String(instantMs)}:${String(field)}`;
}

/** What {@link encodePair} wrote, or undefined when the text is something else. */
export function decodePair(text: string): readonly [instantMs: number, field: number] | undefined {
  const colon = text.indexOf(':');
  // Split before it is a number: 19 digits do not fit a double.
  const instantMs = toInteger(colon === -1 ? text.slice(0, -6) : text.slice(0, colon));
  const field = toInteger(colon === -1 ? text.slice(-6) : text.slice(colon + 1));
  return instantMs === undefined || field === undefined ? undefined : [instantMs, field];
}

const DIGITS = /^\d+$/;

/** Digits as a number, or undefined. */
export function toInteger(digits: string): number | undefined {
  const value = DIGITS.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

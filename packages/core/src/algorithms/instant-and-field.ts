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

/** The digits from one place to another as a number, or -1 when there is none, or it is no safe integer. */
function digitsOf(text: string, from: number, upto: number): number {
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

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** The last instant that a date can be. */
const LATEST_MS = 8.64e15;

/** An instant in UTC, readable for people and programs. What others have written into Redis may be later than any date. */
export function writtenInstant(atMs: number): string {
  return atMs > LATEST_MS ? `after ${new Date(LATEST_MS).toISOString()}` : new Date(atMs).toISOString();
}

/** A wait in its two largest units, rounded up in the smaller one. */
export function writtenSpan(ms: number): string {
  if (ms < 1_000) return `${String(ms)}ms`;
  const [largest = ['s', 1_000]] = UNITS.filter(([, length]) => ms >= length);
  const smaller = UNITS[UNITS.findIndex(([name]) => name === largest[0]) + 1];
  if (smaller === undefined) return `${String(Math.ceil(ms / 1_000))}s`;
  const rounded = Math.ceil(ms / smaller[1]);
  const rest = rounded % (largest[1] / smaller[1]);
  const whole = Math.floor((rounded * smaller[1]) / largest[1]);
  return `${String(whole)}${largest[0]}${rest === 0 ? '' : ` ${String(rest)}${smaller[0]}`}`;
}

import { parseDuration } from '@sluice/core/spi';

/**
 * Reads a duration, in milliseconds if it has no unit.
 *
 * @throws PolicyError.
 */
export function parseFlagDuration(text: string, flag: string): number {
  return parseDuration(/^\d+$/.test(text) ? Number(text) : text, flag);
}

/** Escapes control characters, because text in Redis may come from anywhere: no terminal commands, no line breaks. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Formats rows below headings, in columns as wide as their longest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((cells) => cells.map(printable));
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const padded = lines.map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return padded.map((line) => line.trimEnd()).join('\n');
}

/** The latest instant that a date can hold. */
const LAST_MS = 8.64e15;

/** An instant in UTC, readable by people and programs. Values that others wrote to Redis may be later than any date. */
export function writeInstant(atMs: number): string {
  return atMs > LAST_MS ? `after ${new Date(LAST_MS).toISOString()}` : new Date(atMs).toISOString();
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** A wait in its two largest units, rounded up in the smaller one. */
export function writeWait(ms: number): string {
  if (ms < 1_000) return `${String(ms)}ms`;
  const at = UNITS.findIndex(([, length]) => ms >= length);
  const [[largest, length], smaller] = UNITS.slice(at) as [(typeof UNITS)[0], (typeof UNITS)[0] | undefined];
  if (smaller === undefined) return `${String(Math.ceil(ms / 1_000))}s`;
  const rounded = Math.ceil(ms / smaller[1]) * smaller[1];
  const rest = (rounded % length) / smaller[1];
  return `${String(Math.floor(rounded / length))}${largest}${rest === 0 ? '' : ` ${String(rest)}${smaller[0]}`}`;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000_001,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)/y;

/** Milliseconds of a duration as Go writes it, such as `24h` or `1h30m`, rounded up. Undefined for any other text. */
export function goDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  let ms = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const part = PART.exec(text);
    if (part === null) return undefined;
    ms += Number(part[1]) * (UNITS_MS[part[2] ?? ''] ?? 0);
  }
  return text === '' ? undefined : Math.ceil(ms);
}

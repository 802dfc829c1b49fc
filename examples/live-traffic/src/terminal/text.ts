const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export type Style = keyof typeof CODES;

/** Text of one style. */
export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** One line of output, before it is known whether there are colours and how wide it may be. */
export type Line = readonly Span[];

export function line(text: string, style?: Style): Line {
  return [{ text, style }];
}

/** @param columns - Cut to these; every character is taken to be one column wide. */
export function renderLine(spans: Line, color: boolean, columns: number = Infinity): string {
  let left = columns;
  let rendered = '';
  for (const { text, style } of spans) {
    const shown = text.slice(0, left);
    left -= shown.length;
    rendered += color && style !== undefined && shown !== '' ? `\x1b[${String(CODES[style])}m${shown}\x1b[0m` : shown;
  }
  return color ? rendered : rendered.trimEnd();
}

/** Of seven characters at most: from a million on "1.23M". */
export function count(value: number): string {
  return value < 1_000_000
    ? value.toLocaleString('en-US')
    : value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 2 });
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '-';
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(Math.round(value));
}

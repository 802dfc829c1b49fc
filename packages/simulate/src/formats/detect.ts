import { UsageError } from '../terminal/failure.ts';
import type { LogFormat } from './log-entry.ts';
import { CombinedFormat } from './combined.ts';
import { FormatStringFormat } from './format-string.ts';
import { JsonLinesFormat, jsonMapping } from './json-lines.ts';

const FORMATS: Readonly<Record<string, () => LogFormat>> = {
  combined: () => new CombinedFormat(),
  json: () => new JsonLinesFormat(),
};

export const formatNames: readonly string[] = [...Object.keys(FORMATS), 'json:time=PATH,...'];

/** Lines that are tried. */
const TRIED = 20;

/**
 * Makes the format that `--format` names. One for each file, because a format remembers what it has seen.
 *
 * @throws UsageError for a text that is no format.
 */
export function formatMaker(text: string): () => LogFormat {
  const known = Object.hasOwn(FORMATS, text) ? FORMATS[text] : undefined;
  if (known !== undefined) return known;
  if (text.startsWith('json:')) {
    const mapping = jsonMapping(text.slice('json:'.length));
    return () => new JsonLinesFormat(mapping);
  }
  if (/^[\w-]+$/.test(text)) {
    throw new UsageError(
      `there is no format ${JSON.stringify(text)}; known: ${formatNames.join(', ')}, or a format string`,
    );
  }
  const make = (): LogFormat => new FormatStringFormat(text);
  make();
  return make;
}

/**
 * The format of a log, from its first lines; undefined while all of them are empty.
 *
 * @throws UsageError where they are of none.
 */
export function detectFormat(text: string, name: string): LogFormat | undefined {
  const lines = text
    .trimStart()
    .split('\n', 2 * TRIED)
    .filter((line) => line.trim() !== '')
    .slice(0, TRIED);
  if (lines.length === 0) return undefined;
  for (const make of Object.values(FORMATS)) {
    const format = make();
    const read = lines.filter((line) => format.read(line, 0, line.length) !== undefined);
    if (read.length * 2 > lines.length) return make();
  }
  throw new UsageError(
    `${name}: the first lines are of no known format; write --format with one of ${formatNames.join(', ')}, or with a format string such as '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent'`,
  );
}

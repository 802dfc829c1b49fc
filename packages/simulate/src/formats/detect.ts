import { UsageError } from '../terminal/failure.ts';
import type { LogFormat } from './log-entry.ts';
import { AlbFormat } from './alb.ts';
import { CombinedFormat } from './combined.ts';
import { FormatStringFormat } from './format-string.ts';
import { CADDY, ENVOY_JSON, JsonLinesFormat, jsonMapping } from './json-lines.ts';

/** Envoy's default format of access logs. */
const ENVOY_TEXT =
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"';

const combined = (): LogFormat => new CombinedFormat();
const FORMATS: Readonly<Record<string, () => LogFormat>> = {
  combined,
  common: combined,
  nginx: combined,
  apache: combined,
  json: () => new JsonLinesFormat(),
  caddy: () => new JsonLinesFormat(CADDY, 'caddy'),
  envoy: () => new FormatStringFormat(ENVOY_TEXT, 'envoy'),
  'envoy-json': () => new JsonLinesFormat(ENVOY_JSON, 'envoy-json'),
  alb: () => new AlbFormat(),
};

export const formatNames: readonly string[] = [...Object.keys(FORMATS), 'json:time=PATH,...'];

/** Lines that are tried. */
const TRIED = 20;
const LIKELIEST = ['combined', 'caddy', 'envoy-json', 'json', 'envoy', 'alb'];

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
  for (const likely of LIKELIEST) {
    const make = FORMATS[likely] as () => LogFormat;
    const format = make();
    const read = lines.filter((line) => isWhole(likely, line) && format.read(line, 0, line.length) !== undefined);
    if (read.length * 2 > lines.length) return make();
  }
  throw new UsageError(
    `${name}: the first lines are of no known format; write --format with one of ${formatNames.join(', ')}, or with a format string such as '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent'`,
  );
}

/** Which JSON is whose: that of Caddy holds the request as an object, that of Envoy has its own names. */
function isWhole(format: string, line: string): boolean {
  if (format === 'caddy') return /"request":\s*\{/.test(line) && /"ts":/.test(line);
  if (format === 'envoy-json') return /"response_code":/.test(line) && /"start_time":/.test(line);
  return true;
}

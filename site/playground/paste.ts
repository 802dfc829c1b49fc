import { MAX_COST, type Offered, type Pasted } from './traffic.ts';

/** Longer text is cut: browsers take seconds to lay out more in a field. */
export const MAX_TEXT = 1_000_000;
/** More are left out. */
export const MAX_REQUESTS = 5_000;
/** A longer line is cut, because what matters is at its beginning. */
const MAX_LINE = 1_000;
const MAX_NAME = 64;
/** Requests that come later than this after the first are left out. */
const MAX_SPAN_MS = 1_000 * 86_400_000;
/** A smaller instant is a time from the start. */
const MIN_DATE_MS = 1e11;
/** The end of the year 9999. */
const MAX_DATE_MS = 253_402_300_800_000;

interface Line {
  readonly atMs: number;
  readonly key: string;
  readonly cost: number;
  /** Whether its timestamp has whole seconds. */
  readonly isCoarse: boolean;
}

/** The common and the combined log format of Apache and nginx. */
const ACCESS_LOG = /^(\S+) \S+ .*?\[([^[\]]{1,40})\] "/;

/**
 * Reads requests, one a line: `time [cost] [key]`, or a line of an access log, whose key is the address. Times are
 * ISO 8601, seconds or milliseconds since 1970, or seconds from the start.
 *
 * @returns The traffic (undefined if no line could be read), and notes for the reader on what was left out or spread.
 */
export function parsePaste(text: string): { readonly traffic: Pasted | undefined; readonly notes: readonly string[] } {
  const notes: string[] = [];
  const written = text
    .slice(0, MAX_TEXT)
    .split('\n')
    .map((line) => line.slice(0, MAX_LINE).trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const unread: string[] = [];
  const lines: Line[] = [];
  let read = 0;
  for (; read < written.length && lines.length < MAX_REQUESTS; read++) {
    const line = parseLine(written[read] as string);
    if (line === undefined) unread.push(written[read] as string);
    else lines.push(line);
  }
  if (unread[0] !== undefined) {
    const example = unread[0].length > 40 ? `${unread[0].slice(0, 40)}…` : unread[0];
    notes.push(`${countLines(unread.length)} could not be read, such as “${example}”.`);
  }
  if (lines.length === 0) {
    return {
      traffic: undefined,
      notes: notes.length > 0 ? notes : ['There is nothing to read yet: one request a line.'],
    };
  }
  if (text.length >= MAX_TEXT || read < written.length) {
    notes.push(`Only the first ${String(lines.length)} requests are shown; sluice simulate replays whole logs.`);
  }
  const sorted = sortLines(lines);
  const kept = sorted.filter(({ atMs }) => atMs < (sorted[0] as Line).atMs + MAX_SPAN_MS);
  const late = sorted.length - kept.length;
  if (late > 0) notes.push(`${countLines(late)} more than 1000 days after the first left out.`);
  const spread = spreadSeconds(kept);
  if (spread !== kept) notes.push('The log has whole seconds: the requests of a second are spread evenly over it.');
  return { traffic: toTraffic(spread), notes };
}

/** The requests as text that {@link parsePaste} reads. */
export function writePaste({ requests, clients }: Pasted): string {
  return requests
    .map(({ atMs, cost, client }) => `${String(atMs / 1000)} ${String(cost)} ${clients[client] ?? ''}`)
    .join('\n');
}

function parseLine(line: string): Line | undefined {
  const log = ACCESS_LOG.exec(line);
  // A date and its time of day may have a space between them.
  const words = line.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d{2}:)/, '$1T').split(/[\s,;]+/);
  const atMs = readTime(log === null ? words.shift() : log[2]);
  // A number after the time is a cost; anything else is the key.
  const cost = log === null && /^\d+$/.test(words[0] ?? '') ? Number(words.shift()) : 1;
  if (atMs === undefined || cost < 1 || cost > MAX_COST) return undefined;
  // Characters that separate words here, or lines in a link, are removed from keys.
  const key = (log?.[1] ?? words[0] ?? '').replace(/[*,;]/g, '').slice(0, MAX_NAME);
  return { atMs, key: key || 'no-key', cost, isCoarse: log !== null };
}

/**
 * An instant in milliseconds: ISO 8601, in UTC if it has no zone, the stamp of an access log, seconds or milliseconds since
 * 1970, or seconds from the start.
 */
function readTime(text = ''): number | undefined {
  const number = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
  let ms = number === undefined || number >= MIN_DATE_MS ? number : number * 1000;
  const stamp = text.replace(/^(\d\d)\/(\w{3})\/(\d{4}):/, '$1 $2 $3 ');
  if (stamp !== text) ms = Date.parse(stamp);
  else if (/^\d{4}-\d\d-\d\dT/.test(text)) ms = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  return ms !== undefined && ms < MAX_DATE_MS ? Math.floor(ms + 1e-4) : undefined;
}

const sortLines = (lines: readonly Line[]): readonly Line[] => [...lines].sort((a, b) => a.atMs - b.atMs);

/** Spreads requests with the same whole second over that second. Returns the same list if there are none. */
function spreadSeconds(lines: readonly Line[]): readonly Line[] {
  const counts = new Map<number, number>();
  for (const { atMs, isCoarse } of lines) if (isCoarse) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  if (counts.size === 0 || Math.max(...counts.values()) === 1) return lines;
  const seen = new Map<number, number>();
  const spread = lines.map((line) => {
    const { atMs, isCoarse } = line;
    if (!isCoarse) return line;
    const before = seen.get(atMs) ?? 0;
    seen.set(atMs, before + 1);
    return { ...line, atMs: atMs + Math.floor((before * 1000) / (counts.get(atMs) ?? 1)) };
  });
  return sortLines(spread);
}

function toTraffic(lines: readonly Line[]): Pasted {
  const clients = [...new Set(lines.map(({ key }) => key))];
  const indices = new Map(clients.map((key, i) => [key, i]));
  const first = (lines[0] as Line).atMs;
  // Dates are counted from the whole second of the first request; other times already count from the start.
  const startMs = first >= MIN_DATE_MS ? Math.floor(first / 1000) * 1000 : 0;
  const requests = lines.map(({ atMs, key, cost }): Offered => ({
    atMs: atMs - startMs,
    client: indices.get(key) ?? 0,
    cost,
  }));
  const spanMs = chooseSpan((requests.at(-1) as Offered).atMs);
  return { from: 'pasted', spanMs, runsMs: 1_000, retries: 'none', clients, requests };
}

/** A span that is easy to divide by eye, and contains this instant. */
function chooseSpan(lastMs: number): number {
  const unit = [1_000, 60_000, 3_600_000, 86_400_000].findLast((ms) => lastMs >= ms * 2) ?? 1_000;
  const step = lastMs / unit > 30 ? 10 : lastMs / unit > 6 ? 3 : 1;
  return Math.ceil((Math.floor(lastMs / unit) + 1) / step) * step * unit;
}

function countLines(count: number): string {
  return count === 1 ? 'One line' : `${String(count)} lines`;
}

import { isDate, parseInstant, parseStamp } from './instants.ts';
import type { Offered, Pasted } from './traffic.ts';

export interface PasteResult {
  /** Undefined when no line could be read. */
  readonly traffic: Pasted | undefined;
  /** Notes for the reader: lines that were left out, requests that were spread. */
  readonly notes: readonly string[];
}

/** More are left out. */
export const MOST_PASTED = 5_000;
/** Lines that are looked at: what was pasted may be no log at all. */
const MOST_LINES = 100_000;
/** A longer line is cut: what matters is at its beginning. */
const LONGEST_LINE = 1_000;
/** Requests that come later than this after the first are left out. */
const LONGEST_SPAN_MS = 1_000 * 86_400_000;
const LONGEST_NAME = 64;
const MOST_COST = 1_000_000;

interface Line {
  readonly atMs: number;
  readonly key: string;
  readonly cost: number;
  /** Whether its stamp is of whole seconds. */
  readonly coarse: boolean;
}

/** The common and the combined log format of Apache and nginx. */
const ACCESS_LOG = /^(\S+) \S+ .*?\[([^[\]]{1,40})\] "/;

/**
 * Reads requests, one a line: `time [cost] [key]`, or a line of an access log, whose key is the address. Times are
 * ISO 8601, seconds or milliseconds since 1970, or seconds from the start.
 *
 * @param runsMs - How long each request runs.
 * @param leftOut - Lines behind the text that were not kept.
 */
export function parsePaste(text: string, runsMs: number, leftOut = 0): PasteResult {
  const { lines, unread, unreadCount, more: unshown } = readLines(text);
  const more = unshown + leftOut;
  const notes: string[] = [];
  if (unread !== undefined) notes.push(`${linesOf(unreadCount)} could not be read, such as “${shortened(unread)}”.`);
  if (lines.length === 0) {
    if (unread === undefined) notes.push('There is nothing to read yet: one request a line.');
    return { traffic: undefined, notes };
  }
  if (more > 0) {
    notes.push(
      `The first ${String(lines.length)} requests are shown, and ${linesOf(more).toLowerCase()} after them left out; sluice simulate replays whole logs.`,
    );
  }
  const sorted = inOrder(lines);
  const lastMs = (sorted[0] as Line).atMs + LONGEST_SPAN_MS;
  const kept = sorted.filter(({ atMs }) => atMs < lastMs);
  if (kept.length < sorted.length) {
    const count = sorted.length - kept.length;
    notes.push(
      `${linesOf(count)} came more than 1000 days after the first, and ${count === 1 ? 'was' : 'were'} left out.`,
    );
  }
  const spread = spreadSeconds(kept);
  if (spread !== kept) {
    notes.push('The log has whole seconds: the requests of a second are spread evenly over it.');
  }
  return { traffic: trafficOf(spread, runsMs), notes };
}

interface ReadLines {
  readonly lines: readonly Line[];
  /** The first line that could not be read. */
  readonly unread: string | undefined;
  readonly unreadCount: number;
  /** Lines that were not looked at. */
  readonly more: number;
}

/** Reads as many lines as are shown, and counts the others, however much was pasted. */
function readLines(text: string): ReadLines {
  const lines: Line[] = [];
  let unread: string | undefined;
  let [unreadCount, looked, more] = [0, 0, 0];
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end === -1 ? text.length : end;
    if (lines.length === MOST_PASTED || looked === MOST_LINES) more++;
    else {
      looked++;
      const one = text.slice(from, Math.min(to, from + LONGEST_LINE)).trim();
      const line = one === '' || one.startsWith('#') ? null : parseLine(one);
      if (line === undefined) {
        unread ??= one;
        unreadCount++;
      } else if (line !== null) lines.push(line);
    }
    from = to + 1;
  }
  return { lines, unread, unreadCount, more };
}

function parseLine(line: string): Line | undefined {
  const log = ACCESS_LOG.exec(line);
  if (log !== null) {
    const [, key = '', stamp = ''] = log;
    const atMs = parseStamp(stamp);
    return atMs === undefined ? undefined : { atMs, key: key.slice(0, LONGEST_NAME), cost: 1, coarse: true };
  }
  // A date and its time of day may have a space between them.
  const [time = '', ...rest] = line.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d{2}:)/, '$1T').split(/[\s,;]+/);
  const atMs = parseInstant(time);
  if (atMs === undefined) return undefined;
  // A number after the time is a cost; anything else is the key.
  const cost = /^\d+$/.test(rest[0] ?? '') ? Number(rest.shift()) : 1;
  if (cost < 1 || cost > MOST_COST) return undefined;
  return { atMs, key: (rest[0] ?? '').slice(0, LONGEST_NAME), cost, coarse: false };
}

function inOrder(lines: readonly Line[]): readonly Line[] {
  return [...lines].sort((a, b) => a.atMs - b.atMs);
}

/** Requests with the same whole second, spread over it. The same list if there are none. */
function spreadSeconds(lines: readonly Line[]): readonly Line[] {
  const counts = new Map<number, number>();
  for (const { atMs, coarse } of lines) if (coarse) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  if (![...counts.values()].some((count) => count > 1)) return lines;
  const seen = new Map<number, number>();
  const spread = lines.map((line) => {
    const count = counts.get(line.atMs);
    if (!line.coarse || count === undefined) return line;
    const before = seen.get(line.atMs) ?? 0;
    seen.set(line.atMs, before + 1);
    return { ...line, atMs: line.atMs + Math.floor((before * 1000) / count) };
  });
  return inOrder(spread);
}

function trafficOf(lines: readonly Line[], runsMs: number): Pasted {
  const clients = [...new Set(lines.map(({ key }) => key))];
  const indices = new Map(clients.map((key, i) => [key, i]));
  const first = (lines[0] as Line).atMs;
  // Dates begin with the whole second of the first request; other times are from the start already.
  const startMs = isDate(first) ? Math.floor(first / 1000) * 1000 : 0;
  const requests = lines.map(({ atMs, key, cost }): Offered => ({
    atMs: atMs - startMs,
    client: indices.get(key) ?? 0,
    cost,
    runsMs,
  }));
  return {
    from: 'pasted',
    spanMs: spanOf((requests.at(-1) as Offered).atMs),
    clients: clients.map((key) => (key === '' ? 'no key' : key)),
    requests,
  };
}

/** A span that is easy to divide by eye, and contains this instant. */
export function spanOf(lastMs: number): number {
  const units = [1_000, 60_000, 3_600_000, 86_400_000];
  const unit = units.findLast((ms) => lastMs >= ms * 2) ?? 1_000;
  const [count, step] = [Math.floor(lastMs / unit) + 1, lastMs / unit > 30 ? 10 : lastMs / unit > 6 ? 3 : 1];
  return Math.ceil(count / step) * step * unit;
}

function linesOf(count: number): string {
  return count === 1 ? 'One line' : `${String(count)} lines`;
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

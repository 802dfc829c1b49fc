import { MOST_PASTED } from './paste.ts';
import { COLUMNS, MOST_CLIENTS, MOST_IN_COLUMN, type Offered, type Pasted } from './traffic.ts';

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LONGEST_NAME = 64;

/** A row of bars: a character for each column, without zeros at the end. */
export function writeBars(counts: readonly number[]): string {
  return counts
    .map((count) => DIGITS.charAt(count))
    .join('')
    .replace(/0+$/, '');
}

/** Rows of bars, with a dot between them; undefined for any other text. */
export function readBars(text: string): readonly (readonly number[])[] | undefined {
  const rows = text.split('.');
  if (rows.length > MOST_CLIENTS) return undefined;
  const clients = rows.map((row) => Array.from(row.padEnd(COLUMNS, '0'), (digit) => DIGITS.indexOf(digit)));
  const isRight = (counts: readonly number[]): boolean =>
    counts.length === COLUMNS && counts.every((count) => count >= 0 && count <= MOST_IN_COLUMN);
  return clients.every(isRight) ? clients : undefined;
}

/**
 * Requests, in base 36: the time since the one before, then the client if it is not the first, then the cost if it is
 * not 1, as in `5k_2_10`.
 */
export function writeRequests({ requests, clients }: Pasted): {
  readonly log: string;
  readonly keys: string;
  readonly runs: string;
} {
  let before = 0;
  const log = requests.map(({ atMs, client, cost }) => {
    const fields = [atMs - before, ...(client === 0 && cost === 1 ? [] : [client]), ...(cost === 1 ? [] : [cost])];
    before = atMs;
    return fields.map((field) => field.toString(36)).join('_');
  });
  return {
    log: log.join('.'),
    keys: clients.map((name) => name.replaceAll('*', '')).join('*'),
    runs: `${String(requests[0]?.runsMs ?? 1_000)}ms`,
  };
}

/** Reads what {@link writeRequests} wrote; undefined for any other text. */
export function readRequests(
  log: string,
  keys: string,
  { spanMs, runsMs }: { readonly spanMs: number; readonly runsMs: number },
): Pasted | undefined {
  const clients = keys.split('*').map((name) => name.slice(0, LONGEST_NAME));
  const written = log.split('.');
  if (written.length > MOST_PASTED || clients.length > MOST_PASTED) return undefined;
  const requests: Offered[] = [];
  let atMs = 0;
  for (const one of written) {
    const match = /^([0-9a-z]{1,9})(?:_([0-9a-z]{1,4}))?(?:_([0-9a-z]{1,5}))?$/.exec(one);
    if (match === null) return undefined;
    atMs += parseInt(match[1] as string, 36);
    const client = parseInt(match[2] ?? '0', 36);
    const cost = parseInt(match[3] ?? '1', 36);
    if (atMs >= spanMs || client >= clients.length || cost < 1) return undefined;
    requests.push({ atMs, client, cost, runsMs });
  }
  return { from: 'pasted', spanMs, clients, requests };
}

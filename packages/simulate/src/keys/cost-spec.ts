import { UsageError } from '../terminal/failure.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import { RouteTemplates } from './route-templates.ts';

/** The cost of a request. */
export interface CostSpec {
  readonly text: string;
  /** Set where every request costs the same. */
  readonly fixed: number | undefined;
  of(entry: LogEntry): number;
}

const MOST_COST = 2 ** 32 - 1;
const BYTES = /^bytes(?:\/(\d{1,15}))?$/;

/**
 * Reads `--cost`: a whole number; `bytes`, or `bytes/1024` for each begun part of that size; or costs by route, as in
 * `/search=5,/export/*=20,1`, where the number alone is that of all others.
 *
 * @throws UsageError for any other text.
 */
export function costSpec(text: string): CostSpec {
  const bytes = BYTES.exec(text);
  if (bytes !== null) {
    const size = Number(bytes[1] ?? 1);
    if (size < 1) throw wrong(text);
    return { text, fixed: undefined, of: (entry) => Math.max(Math.ceil(entry.bytes / size), 1) };
  }
  if (!text.includes('=')) {
    const fixed = costOf(text, text);
    return { text, fixed, of: () => fixed };
  }
  const costs = new Map<string, number>();
  let others = 1;
  for (const part of text.split(',').map((one) => one.trim())) {
    const at = part.lastIndexOf('=');
    if (at === -1) others = costOf(part, text);
    else if (part.startsWith('/')) costs.set(part.slice(0, at), costOf(part.slice(at + 1), text));
    else throw wrong(text);
  }
  const routes = new RouteTemplates([...costs.keys()]);
  return { text, fixed: undefined, of: (entry) => costs.get(routes.of(entry.path)) ?? others };
}

function costOf(digits: string, text: string): number {
  const cost = /^\d{1,10}$/.test(digits) ? Number(digits) : 0;
  if (cost < 1 || cost > MOST_COST) throw wrong(text);
  return cost;
}

function wrong(text: string): UsageError {
  return new UsageError(
    `--cost must be a whole number from 1 to ${String(MOST_COST)}, bytes, bytes/1024, or costs by route such as '/search=5,/export/*=20,1', got ${JSON.stringify(text)}`,
  );
}

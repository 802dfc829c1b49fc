const KINDS = ['outage', 'lost', 'put', 'remove', 'override', 'removeOverride', 'block', 'unblock', 'reset'] as const;

/** Something that changed or broke: an entry of the timeline. */
export interface LimitEvent {
  /**
   * When it happened or began: milliseconds since 1970, by the store's clock (for an outage, by the process's clock).
   */
  readonly atMs: number;
  /**
   * `outage`: the store did not answer. `lost`: it lost managed policies or overrides, which processes have written
   * back. All others are changes, named like the methods of limiters and policies.
   */
  readonly what: (typeof KINDS)[number];
  /** When an `outage` or `lost` ended. Null if it has not, or for a change. */
  readonly endAtMs: number | null;
  /** The limiter, one of its limits as `limiter:limit`, or the managed policy. Several are separated by `, `. */
  readonly limit: string;
  /** The key (a long one as `#` and its hash), or an override's prefix with `*` after it. Null if there is none. */
  readonly key: string | null;
  /** What applied before and after, in words, such as `fixedWindow 100 per 1m`. Null: nothing, or unknown. */
  readonly before: string | null;
  readonly after: string | null;
  /** Who did it, and why; for an outage, the last failure. Null if not given. */
  readonly by: string | null;
  readonly reason: string | null;
}

/** A change, timed by the server. */
export type ChangeEvent = Omit<LimitEvent, 'atMs'>;

const MAX_TEXT = 1_000;
/** The latest instant that a `Date` can hold. */
const LAST_MS = 8.64e15;
const TEXTS = ['key', 'before', 'after', 'by', 'reason'] as const;

/** Writes an event as text. Its strings are cut to a thousand characters. */
export function writeEvent(event: LimitEvent | ChangeEvent): string {
  return JSON.stringify(event, (_, value: unknown) =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT - 1)}…` : value,
  );
}

/** Reads an event. Undefined if the text is not an event: other programs may write to Redis too. */
export function parseEvent(text: string): LimitEvent | undefined {
  try {
    const { atMs, what, endAtMs, limit, ...rest } = JSON.parse(text) as LimitEvent;
    const isInstant = (given: unknown): boolean =>
      Number.isSafeInteger(given) && Number(given) >= 0 && Number(given) <= LAST_MS;
    const isText = (given: unknown): boolean => typeof given === 'string' && given.length <= MAX_TEXT;
    const isWhole =
      isInstant(atMs) &&
      KINDS.includes(what) &&
      (endAtMs === null || isInstant(endAtMs)) &&
      isText(limit) &&
      TEXTS.every((name) => rest[name] === null || isText(rest[name]));
    const { key, before, after, by, reason } = rest;
    return isWhole ? { atMs, what, endAtMs, limit, key, before, after, by, reason } : undefined;
  } catch {
    return undefined; // no JSON
  }
}

import type { LogEntry } from '../formats/log-entry.ts';

/** A stamp that is further ahead of the log waits for the lines that follow it. */
const AHEAD_MS = 86_400_000;
/** How many of them: so many lines are held at most. */
const LOOKED_AT = 32;

/** An entry that is far ahead of all before it. */
interface Waiting {
  readonly entry: LogEntry;
  /** Lines after it, and those of them that are far before it. */
  behind: number;
  earlier: number;
}

/**
 * Finds the stray stamps of one log: those that are more than a day ahead of what came before, and of most lines that
 * follow. Such a request counts at the instant that the log had reached; believed, it would make all lines after it
 * late, and hold up the logs beside it. Where the log stays there, days have passed.
 */
export class StrayStamps {
  readonly #waiting: Waiting[] = [];
  #newestMs = -Infinity;
  found = 0;
  /** The number of the line with the first of them. */
  firstLine: number | undefined;

  /** Takes the next entry of the log, and hands on what is decided by now. */
  add(entry: LogEntry, into: LogEntry[]): void {
    const { atMs } = entry;
    if (this.#waiting.length === 0 && atMs <= this.#newestMs + AHEAD_MS) {
      // Nearly every line.
      if (atMs > this.#newestMs) this.#newestMs = atMs;
      into.push(entry);
      return;
    }
    for (const one of this.#waiting) {
      one.behind++;
      if (isFarAfter(one.entry, entry)) one.earlier++;
    }
    if (this.#isAhead(entry)) this.#waiting.push({ entry, behind: 0, earlier: 0 });
    else this.#release(entry, into);
    if ((this.#waiting[0]?.behind ?? 0) >= LOOKED_AT) this.#decideFirst(into);
  }

  /** Hands on what waits at the end of the log. */
  end(into: LogEntry[]): void {
    while (this.#waiting.length > 0) this.#decideFirst(into);
  }

  #isAhead({ atMs }: LogEntry): boolean {
    return atMs > this.#newestMs + AHEAD_MS;
  }

  #release(entry: LogEntry, into: LogEntry[]): void {
    if (entry.atMs > this.#newestMs) this.#newestMs = entry.atMs;
    into.push(entry);
  }

  #decideFirst(into: LogEntry[]): void {
    const { entry, behind, earlier } = this.#waiting.shift() as Waiting;
    if (2 * earlier <= behind) {
      this.#release(entry, into);
      for (const one of this.#waiting.splice(0)) {
        if (this.#isAhead(one.entry)) this.#waiting.push(one);
        else this.#release(one.entry, into);
      }
      return;
    }
    this.found++;
    this.firstLine ??= entry.line;
    entry.atMs = this.#newestMs > -Infinity ? this.#newestMs : this.#beginMs(entry);
    into.push(entry);
  }

  /** Where the log begins with a stray stamp: the instant of the first line that is not. */
  #beginMs(stray: LogEntry): number {
    return this.#waiting.find(({ entry }) => isFarAfter(stray, entry))?.entry.atMs ?? stray.atMs;
  }
}

function isFarAfter(one: LogEntry, other: LogEntry): boolean {
  return one.atMs > other.atMs + AHEAD_MS;
}

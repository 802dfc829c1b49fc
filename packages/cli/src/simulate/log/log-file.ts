import type { Readable } from 'node:stream';
import { UsageError } from '../../failure.ts';
import { detectFormat, WRITE_FORMAT } from '../formats/choose.ts';
import { readEntry, type Entry, type LogFormat } from '../formats/entry.ts';
import { openLog, readLines } from './read-lines.ts';

/** How many lines show whether a log is of the given format. */
const PROBED = 1000;

/** The requests of one log. */
export class LogFile {
  readonly name: string;
  lines = 0;
  /** The number of lines that are not requests, and the line number of the first. */
  unreadable = 0;
  firstUnreadable: number | undefined;
  format: LogFormat | undefined;
  readonly #stream: Readable;

  /** @param makeFormat - Undefined: detected from the first lines. */
  constructor(path: string, makeFormat: (() => LogFormat) | undefined) {
    this.name = path === '-' ? 'standard input' : path;
    this.format = makeFormat?.();
    this.#stream = openLog(path);
  }

  /**
   * The requests in the order of the log, in batches.
   *
   * @throws (rejects) UsageError if most lines are of another format.
   */
  async *entries(): AsyncGenerator<readonly Entry[]> {
    for await (const lines of readLines(this.#stream, this.name)) {
      const found: Entry[] = [];
      for (const line of lines) {
        this.lines++;
        if (line === '' || line === '\r') continue;
        this.format ??= detectFormat(
          lines.filter((one) => one.trim() !== ''),
          this.name,
        );
        const entry = readEntry(this.format, line.endsWith('\r') ? line.slice(0, -1) : line);
        if (entry === undefined) {
          this.unreadable++;
          this.firstUnreadable ??= this.lines;
          if (this.lines === PROBED) this.#check(this.format);
        } else if (entry !== null) found.push(entry);
      }
      yield found;
    }
    if (this.format !== undefined) this.#check(this.format);
  }

  /** Stops reading, possibly before the end of the log: a program writing into a pipe is notified. */
  close(): void {
    this.#stream.destroy();
  }

  #check({ name }: LogFormat): void {
    if (this.unreadable * 2 <= this.lines) return;
    const where = `${this.name}:${String(this.firstUnreadable)}`;
    throw new UsageError(`${where}: most lines do not match the format ${name}; ${WRITE_FORMAT}`);
  }
}

/** Merges logs by time: the next entry is the earliest of all logs. */
export async function* merge(files: readonly LogFile[]): AsyncGenerator<readonly Entry[]> {
  const heads = files.map((file) => ({ batches: file.entries(), batch: [] as readonly Entry[], next: 0 }));
  for (;;) {
    for (const head of [...heads]) {
      while (head.next === head.batch.length) {
        const more = await head.batches.next();
        if (more.done === true) {
          heads.splice(heads.indexOf(head), 1);
          break;
        }
        [head.batch, head.next] = [more.value, 0];
      }
    }
    const [only] = heads;
    if (only === undefined) return;
    if (heads.length === 1) {
      yield only.next === 0 ? only.batch : only.batch.slice(only.next);
      only.next = only.batch.length;
      continue;
    }
    const merged: Entry[] = [];
    let first: typeof only;
    do {
      first = heads.reduce((one, other) => (atMs(other) < atMs(one) ? other : one));
      merged.push(first.batch[first.next++] as Entry);
    } while (first.next < first.batch.length);
    yield merged;
  }
}

function atMs({ batch, next }: { readonly batch: readonly Entry[]; readonly next: number }): number {
  return (batch[next] as Entry).atMs;
}

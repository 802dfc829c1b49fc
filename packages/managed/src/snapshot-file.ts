import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A record and its name, as a source has them. */
export type NamedRecord = readonly [name: string, record: unknown];

const FORMAT = 1;
/** How many records are written in one turn of the event loop. */
const CHUNK = 500;

/**
 * A file with the records that a process has read last, a line each: for a start at which their source is away. Every
 * process has its own, or they write the same.
 */
export class SnapshotFile {
  readonly path: string;
  #written = 0;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Returns the records, or undefined where there is no file, or not a whole one.
   *
   * @throws (rejects) the errors of the file system, except that there is no file.
   */
  async read(): Promise<readonly NamedRecord[] | undefined> {
    let file;
    try {
      file = await open(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const records: NamedRecord[] = [];
      let first: unknown;
      for await (const line of file.readLines()) {
        const read: unknown = JSON.parse(line);
        if (first === undefined) first = read;
        else if (isNamed(read)) records.push(read);
        else return undefined;
      }
      const { format } = (first ?? {}) as { readonly format?: number };
      return format === FORMAT ? records : undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    } finally {
      await file.close().catch(() => undefined);
    }
  }

  /** Replaces the file by one that is whole at any time. Only the user of this process may read it. */
  async write(records: Iterable<NamedRecord>): Promise<void> {
    const temporary = `${this.path}.${String(process.pid)}.${String(this.#written++)}`;
    try {
      await rm(temporary, { force: true }); // of a process of the same number that was killed
      // A new file: others may be able to put a link to a file of the user's into the folder.
      await pipeline(Readable.from(chunksOf(records)), createWriteStream(temporary, { mode: 0o600, flags: 'wx' }));
      await rename(temporary, this.path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }
}

function isNamed(given: unknown): given is NamedRecord {
  return Array.isArray(given) && given.length === 2 && typeof given[0] === 'string';
}

function* chunksOf(records: Iterable<NamedRecord>): Generator<string> {
  let lines = [JSON.stringify({ format: FORMAT })];
  for (const record of records) {
    lines.push(JSON.stringify(record));
    if (lines.length < CHUNK) continue;
    yield `${lines.join('\n')}\n`;
    lines = [];
  }
  yield lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

import { UsageError } from '../terminal/failure.ts';
import { detectFormat, formatNames } from '../formats/detect.ts';
import { isInstant } from '../formats/stamps.ts';
import { checkText } from './check-text.ts';
import type { LogEntry, LogFormat } from '../formats/log-entry.ts';
import { bytesOf, type Source } from './sources.ts';
import { StrayStamps } from './stray-stamps.ts';
import { textBlocks } from './text-blocks.ts';

/** How many lines, from the first, show whether a log is of the given format. */
const PROBED = 1000;

/** The lines of one log, as entries. */
export class LogFile {
  readonly source: Source;
  readonly #makeFormat: (() => LogFormat) | undefined;
  format: LogFormat | undefined;
  lines = 0;
  /** Lines that are of no request. */
  unreadable: number = 0;
  /** The number of the first of them. */
  firstUnreadable: number | undefined;
  readonly strays: StrayStamps = new StrayStamps();

  /** @param makeFormat - Undefined: the first lines tell. */
  constructor(source: Source, makeFormat: (() => LogFormat) | undefined) {
    this.source = source;
    this.#makeFormat = makeFormat;
  }

  /**
   * The entries of the log in its order, some at a time.
   *
   * @throws (rejects) UsageError where most of the first lines are of another format.
   */
  async *entries(): AsyncGenerator<readonly LogEntry[]> {
    for await (const text of textBlocks(bytesOf(this.source))) {
      if (this.lines === 0) checkText(text, this.source.name);
      const format = (this.format ??= this.#makeFormat?.() ?? detectFormat(text, this.source.name));
      if (format === undefined) this.lines += text.split('\n').length - 1;
      else yield this.#read(text, format);
    }
    const rest: LogEntry[] = [];
    this.strays.end(rest);
    yield rest;
  }

  #read(text: string, format: LogFormat): readonly LogEntry[] {
    const found: LogEntry[] = [];
    const { length } = text;
    // Entries are views of the text, which stays as long as one of them waits.
    let heldBytes = length;
    for (let from = 0; from < length;) {
      let to = text.indexOf('\n', from);
      const next = to + 1;
      if (to > from && text.charCodeAt(to - 1) === CARRIAGE_RETURN) to--;
      this.lines++;
      if (to > from) {
        // A log that was emptied while its server went on writing begins with zeros.
        while (text.charCodeAt(from) === 0) from++;
        const entry = format.read(text, from, to);
        if (entry === undefined || !isInstant(entry.atMs)) this.#passOver(format);
        else {
          entry.line = this.lines;
          entry.heldBytes = heldBytes;
          heldBytes = 0;
          this.strays.add(entry, found);
        }
      }
      from = next;
    }
    return found;
  }

  #passOver({ name }: LogFormat): void {
    this.unreadable++;
    this.firstUnreadable ??= this.lines;
    if (this.lines <= PROBED && this.unreadable * 2 > PROBED) this.#failAs(name);
  }

  /** @throws UsageError if the log has lines and no request. */
  checkAtEnd(): void {
    if (this.lines > 0 && this.unreadable * 2 > this.lines) this.#failAs(this.format?.name ?? 'known');
  }

  #failAs(name: string): never {
    throw new UsageError(
      `${this.source.name}:${String(this.firstUnreadable)}: most lines are not of the format ${name}; write --format with one of ${formatNames.join(', ')}, or with a format string such as '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent'`,
    );
  }
}

const CARRIAGE_RETURN = 13;

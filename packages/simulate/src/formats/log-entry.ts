/** The fields of a line that are read only when a report or a key needs them. */
export interface LogDetail {
  readonly method: string;
  /** The path and the query, as the client wrote them; `-` where the log has none. */
  readonly target: string;
  readonly userAgent: string | undefined;
  readonly user: string | undefined;
  /** Any other field, by the name that the format gives it. */
  field(name: string): string | undefined;
}

/** How lines of one format are read. An instance belongs to one file. */
export interface LogFormat {
  readonly name: string;
  /** Whether a stamp so far had a part of a second. */
  readonly hasFractions: boolean;
  /** Whether addresses are as bytes came, a character for each; otherwise they are decoded. */
  readonly addressesAreBytes: boolean;
  /** Reads the line from `from` to `to` of a text; undefined where it is of another format. */
  read(text: string, from: number, to: number): LogEntry | undefined;
  detail(entry: LogEntry): LogDetail;
}

/** One request of a log. */
export class LogEntry {
  /** When the request began, in milliseconds since 1970. */
  atMs: number;
  /** The client as the log names it, see `LogFormat.addressesAreBytes`; `-` or empty where it does not. */
  readonly address: string;
  /** 0 where the log has none. */
  readonly status: number;
  /** The number of the line in its file, from 1. */
  line = 0;
  /** The bytes of the text that it came with; 0 where another entry of that text states them. */
  heldBytes = 0;
  readonly format: LogFormat;
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly parsed: unknown;
  #detail: LogDetail | undefined = undefined;

  constructor(
    format: LogFormat,
    atMs: number,
    address: string,
    status: number,
    text: string,
    from: number,
    to: number,
    parsed: unknown,
  ) {
    this.format = format;
    this.atMs = atMs;
    this.address = address;
    this.status = status;
    this.text = text;
    this.from = from;
    this.to = to;
    this.parsed = parsed;
  }

  get detail(): LogDetail {
    return (this.#detail ??= this.format.detail(this));
  }

  /** Whether the server answered without an error. */
  get succeeded(): boolean {
    return this.status >= 100 && this.status < 400;
  }

  /** The path without query and, where the target is a whole URL, without its origin. */
  get path(): string {
    const { target } = this.detail;
    const origin = target.startsWith('/') ? 0 : (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)?.[0].length ?? 0);
    const query = target.indexOf('?', origin);
    const path = query === -1 ? target.slice(origin) : target.slice(origin, query);
    const fragment = path.indexOf('#');
    return (fragment === -1 ? path : path.slice(0, fragment)) || '/';
  }
}

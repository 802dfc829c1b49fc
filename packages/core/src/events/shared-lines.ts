import { getLines, putLines } from './scripts.generated.ts';

/** The parts of a Redis connection that a list needs. */
export interface LinesConnection {
  readonly prefix: string;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

/** A line of the list. */
export interface SharedLine {
  readonly name: string;
  readonly text: string;
  /** When it expires, by Redis's clock. */
  readonly endsAtMs: number;
}

const MAX_BYTES = 1_048_576;

/**
 * A list in Redis that several processes write, of at most a megabyte. It needs only the permissions that every limiter
 * has: `TIME`, `GET` and `SET`. Other programs may write to Redis too, so the lines can contain anything.
 */
export class SharedLines {
  readonly #connection: LinesConnection;
  readonly #key: string;
  readonly #keptMs: number;
  readonly #max: number;

  /**
   * @param key - The key after the prefix.
   * @param keptMs - How long a line is kept.
   * @param max - The most lines.
   */
  constructor(connection: LinesConnection, key: string, keptMs: number, max: number) {
    this.#connection = connection;
    this.#key = `${connection.prefix}:${key}`;
    this.#keptMs = keptMs;
    this.#max = max;
  }

  /** Reads all lines and the server's current time. Rejects with StoreError. */
  async read(): Promise<{ readonly nowMs: number; readonly lines: readonly SharedLine[] }> {
    const reply = await this.#connection.eval(getLines.source, [this.#key], [String(MAX_BYTES)]);
    const [now = '', list = ''] = (reply as readonly unknown[]).map(String);
    const lines = list.split('\n').flatMap((line) => {
      const [, endsAtMs, name = '', text = ''] = /^(\d{1,15}) (\S{1,400}) (.*)$/s.exec(line) ?? [];
      return endsAtMs === undefined ? [] : [{ name, text, endsAtMs: Number(endsAtMs) }];
    });
    return { nowMs: Number(now), lines: lines.filter((line) => line.endsAtMs > Number(now)).slice(0, this.#max) };
  }

  /**
   * Writes lines, replacing those with the same names: doing it twice does no harm. Rejects with StoreError.
   *
   * @param lines - `sinceMs`: since when the line is kept; default: now.
   */
  async put(
    lines: readonly { readonly name: string; readonly text: string; readonly sinceMs?: number }[],
  ): Promise<void> {
    const fields = lines.flatMap(({ name, text, sinceMs = 0 }) => [name, String(sinceMs), text]);
    const args = [String(this.#max), String(MAX_BYTES), String(this.#keptMs), ...fields];
    await this.#connection.eval(putLines.source, [this.#key], args);
  }
}
